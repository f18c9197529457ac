"""Paths and variables: what wins over what."""

from __future__ import annotations

from pathlib import Path

import pytest

from colde_cli import settings
from colde_cli.errors import ModelError, OptionError


def fake_model(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    return folder


def test_the_shipped_model_is_found_by_name() -> None:
    assert settings.resolve_model(settings.DEFAULT_MODEL).name == settings.DEFAULT_MODEL


def test_the_users_folders_come_first_and_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = fake_model(tmp_path / "first" / settings.DEFAULT_MODEL)
    fake_model(tmp_path / "second" / settings.DEFAULT_MODEL)
    other = fake_model(tmp_path / "second" / "other")
    monkeypatch.setenv("COLDE_MODELS", f"{tmp_path / 'first'}:{tmp_path / 'second'}")
    assert settings.resolve_model(settings.DEFAULT_MODEL) == first
    assert settings.resolve_model("other") == other


def test_a_name_wins_over_a_folder_of_that_name_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_model(tmp_path / settings.DEFAULT_MODEL)
    monkeypatch.chdir(tmp_path)
    assert settings.resolve_model(settings.DEFAULT_MODEL).resolve().parent != tmp_path
    assert settings.resolve_model(f"./{settings.DEFAULT_MODEL}") == Path(settings.DEFAULT_MODEL)


@pytest.mark.parametrize(
    ("text", "size"), [("500MB", 500_000_000), ("1.5 GiB", 3 * 2**29), ("1000", 1000), (" 2 gb ", 2 * 10**9)]
)
def test_sizes(text: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLDE_CACHE_LIMIT", text)
    assert settings.cache_limit() == size


@pytest.mark.parametrize("text", ["much", "-1MB", "3 XB", "9" * 400 + "kB"])
def test_a_size_that_is_none(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLDE_CACHE_LIMIT", text)
    with pytest.raises(OptionError, match="COLDE_CACHE_LIMIT"):
        settings.cache_limit()


def test_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings.default_threads() == settings.usable_cores() >= 1
    monkeypatch.setenv("COLDE_THREADS", "3")
    assert settings.default_threads() == 3
    for text in ("none", "0", "9" * 5000):
        monkeypatch.setenv("COLDE_THREADS", text)
        with pytest.raises(OptionError, match="COLDE_THREADS"):
            settings.default_threads()


def test_times_without_end_are_refused() -> None:
    for parse in (settings.parse_moment, settings.parse_duration):
        with pytest.raises(OptionError, match="--time"):
            parse("9" * 400 + "h", "--time")


def test_cache_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLDE_CACHE_DIR", "~/elsewhere")
    assert settings.cache_dir() == Path.home() / "elsewhere"


def test_profiles_are_found_by_name_and_by_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(settings.PROFILES, str(tmp_path / "kept"))
    monkeypatch.chdir(tmp_path)
    for folder in ("kept/law", "law", "poems"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "profile.json").touch()
    assert settings.profile_folder("law") == tmp_path / "kept" / "law"
    assert settings.profile_folder("./law") == Path("law")
    # A bare name is looked up among the kept profiles before the folder that the program runs in.
    assert settings.resolve_profile("law") == tmp_path / "kept" / "law"
    assert settings.resolve_profile("poems") == Path("poems")
    assert settings.resolve_profile(Path("law")) == Path("law")
    with pytest.raises(ModelError, match=r"no field profile 'plays'.*known are: law\."):
        settings.resolve_profile("plays")
