# syntax=docker/dockerfile:1
#
# The image contains the sidecar as one executable with Node.js inside, and the libraries that it is linked with. It has no shell and no
# package manager: the tools of a container are subcommands (health, drain, reload, check). docs/install.md says how to build and run it.
# `node scripts/container.mjs` builds it twice with buildah, which needs no container engine, and runs the result.

# A digest works as well: --build-arg NODE_IMAGE=node@sha256:...
# The build fails for a Node.js with known vulnerabilities. --build-arg FOR_RELEASE=no builds an image for trials, and labels it so.
ARG NODE_IMAGE=node:26.12.1-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY rolldown.config.js tsconfig.json ./
COPY src ./src
# The build has no .git, so pass the commit: --build-arg BUILD_COMMIT=$(git describe --always --dirty --abbrev=12 --exclude='*')
ARG BUILD_COMMIT=unknown
RUN npm run build
COPY scripts/executable.mjs scripts/sbom.mjs scripts/runtime.mjs ./scripts/
COPY LICENSE ./
COPY config/sidecar.yaml config/schema.json ./config/
ARG FOR_RELEASE=yes
RUN node scripts/executable.mjs d2-sidecar $([ "$FOR_RELEASE" = yes ] || echo --trial)

# /image becomes the image. All its files get the same time, so that the same source gives the same layer.
ARG SOURCE_DATE_EPOCH=0
RUN set -eu; \
    install -D -m 755 d2-sidecar /image/usr/local/bin/d2-sidecar; \
    ldd d2-sidecar | grep -o '/[^ ]*' | sort -u | xargs cp --dereference --parents --target-directory=/image; \
    install -D -m 644 LICENSE /image/usr/share/doc/d2-sidecar/copyright; \
    install -d -m 1777 /image/tmp; \
    mkdir -p /image/etc; \
    echo 'nonroot:x:65532:65532::/:/nonexistent' > /image/etc/passwd; \
    echo 'nonroot:x:65532:' > /image/etc/group; \
    # Without this file, the C library would ask DNS before it reads /etc/hosts.
    echo 'hosts: files dns' > /image/etc/nsswitch.conf; \
    # The licences of the libraries require these texts; the base image may lack some of them. The executable prints all others.
    for file in /usr/share/doc/libc6/copyright /usr/share/doc/libgcc-s1/copyright \
        /usr/share/doc/libstdc++6/copyright /usr/share/doc/libatomic1/copyright; do \
      if [ -f "$file" ]; then cp --dereference --parents --target-directory=/image "$file"; fi; \
    done; \
    chmod -R u=rwX,go=rX /image/usr /image/etc; \
    find /image -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +

FROM scratch
LABEL org.opencontainers.image.title="d2-sidecar" \
      org.opencontainers.image.description="A reverse proxy put before a D2000 application server that measures its calls, sessions and objects" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="MIT"
ARG BUILD_COMMIT=unknown
ARG FOR_RELEASE=yes
LABEL org.opencontainers.image.revision="${BUILD_COMMIT}" \
      d2-sidecar.for-release="${FOR_RELEASE}"
COPY --from=build /image/ /
# Without it, the C library keeps a memory arena for each helper thread (docs/install.md). The executable sets the options of Node.js.
ENV PATH=/usr/local/bin \
    NODE_ENV=production \
    MALLOC_ARENA_MAX=1
# A number, so that Kubernetes can verify that it is not root (runAsNonRoot).
USER 65532:65532
EXPOSE 8081 9280
HEALTHCHECK --interval=10s --timeout=6s --start-period=5s --retries=3 CMD ["/usr/local/bin/d2-sidecar", "health"]
ENTRYPOINT ["/usr/local/bin/d2-sidecar"]
