# docker build -t colde . && docker run --rm -v "$PWD:/work" colde diff a.pdf b.pdf
FROM python:3.12-slim AS build
WORKDIR /src
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.12-slim
ARG EXTRAS=serve,mcp
COPY --from=build /wheels /wheels
COPY constraints.txt /wheels/
RUN pip install --no-cache-dir --require-hashes -r /wheels/constraints.txt \
 && pip install --no-cache-dir "$(ls /wheels/*.whl)[$EXTRAS]" && rm -r /wheels \
 && useradd --create-home colde && mkdir /cache && chown colde /cache
USER colde
ENV COLDE_CACHE_DIR=/cache
VOLUME /cache
WORKDIR /work
ENTRYPOINT ["colde"]
CMD ["--help"]
