"""Train one model in several processes, as `accelerate launch` starts them.

Every process draws the same batch and holds the same weights; only BERT's work is shared. Each process encodes some of
the chunks, and then gets the vectors of all. Head and loss run alike in every process. Each sends the gradient of its
own chunks backward, and the sum of these gradients is that of the whole batch. So the number of processes does not
change the result. With a loss for each process, as is usual, a document would see fewer negatives.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from colde_cli.errors import OptionError


@dataclass(frozen=True, slots=True)
class Processes:
    """The processes of a run, seen from one of them, number `number` of `count`."""

    number: int = 0
    count: int = 1
    device: torch.device | None = None  # of this process; None if it is alone, and the device is not chosen yet

    @property
    def main(self) -> bool:
        """Whether this is the main process, which alone writes and prints."""
        return self.number == 0

    def share(self, lengths: Sequence[int]) -> list[int]:
        """Choose the rows that this process encodes: rows are dealt out from the longest to the shortest."""
        order = range(len(lengths))
        if self.count > 1:
            return sorted(order, key=lambda row: -lengths[row])[self.number :: self.count]
        return list(order)

    def total(self, tensor: Tensor) -> Tensor:
        """Sum a tensor over all processes. A row that one process fills and the others leave zero is thus shared."""
        if self.count == 1:
            return tensor
        from accelerate.utils import reduce

        summed: Tensor = reduce(tensor.to(self.device), "sum")
        return summed.to(tensor.device)

    def from_main(self, tensor: Tensor) -> Tensor:
        """Return the main process's tensor, so that results which differ by rounding become the same."""
        if self.count == 1:
            return tensor
        from accelerate.utils import broadcast

        told: Tensor = broadcast(tensor.to(self.device).contiguous())
        return told.to(tensor.device)

    def any(self, flag: bool) -> bool:
        """Return whether the flag is set in any process."""
        return bool(self.total(torch.tensor(float(flag))))

    @contextmanager
    def summed(self, weights: Iterable[nn.Parameter]) -> Iterator[None]:
        """Sum over all processes what the context adds to the gradients of `weights`."""
        if self.count == 1:
            yield
            return
        trained = [weight for weight in weights if weight.requires_grad]
        before = [weight.grad for weight in trained]
        for weight in trained:
            weight.grad = None
        yield
        # A weight that no process used keeps no gradient: AdamW then leaves it alone.
        used = self.total(torch.tensor([float(weight.grad is not None) for weight in trained]))
        for weight, held, count in zip(trained, before, used.tolist(), strict=True):
            if count:
                weight.grad = self.total(torch.zeros_like(weight) if weight.grad is None else weight.grad)
            if held is not None:
                weight.grad = held if weight.grad is None else held + weight.grad

    @contextmanager
    def own_numbers(self) -> Iterator[None]:
        """Draw random numbers that differ between processes; afterwards all draw the same again."""
        if self.count == 1:
            yield
            return
        seed = int(torch.randint(2**62, ()))
        states = random_states(self.device)
        torch.manual_seed(seed + self.number)
        yield
        set_random_states(self.device, states)

    def agree_on_numbers(self) -> None:
        """Let all processes draw the main one's random numbers from here on."""
        if self.count > 1:
            set_random_states(self.device, [self.from_main(state) for state in random_states(self.device)])

    def leave(self) -> None:
        """Part from the other processes."""
        if self.count > 1:
            torch.distributed.destroy_process_group()


ALONE = Processes()


def random_states(device: torch.device | None) -> list[Tensor]:
    """Return the state of the CPU's generator, and of the device's if it has one of its own."""
    states = [torch.get_rng_state()]
    if device is not None and device.type == "cuda":
        states.append(torch.cuda.get_rng_state(device))
    return states


def set_random_states(device: torch.device | None, states: Sequence[Tensor]) -> None:
    """Set the generators to what `random_states` returned."""
    torch.set_rng_state(states[0])
    if device is not None and device.type == "cuda":
        torch.cuda.set_rng_state(states[1], device)


def join(device: str) -> Processes:
    """Return the processes that were started together with this one, or `ALONE`; each takes a GPU of its own.

    Raises:
        OptionError: a single GPU was named for several processes.
    """
    if "LOCAL_RANK" not in os.environ or int(os.environ.get("WORLD_SIZE", "1")) < 2:
        return ALONE
    if device.startswith("cuda:"):
        raise OptionError(f"--device {device} is one GPU for several processes; take --device cuda.")
    from accelerate import PartialState

    state = PartialState(cpu=device == "cpu")
    return Processes(state.process_index, state.num_processes, state.device)
