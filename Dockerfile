# syntax=docker/dockerfile:1
#
# The image contains the sidecar, Node.js and the libraries that Node.js is linked with. It has no shell and no package manager: the tools of
# a container are subcommands (health, drain, reload, check). docs/install.md says how to build and run it. `node scripts/container.mjs`
# builds it twice with buildah, which needs no container engine, and runs the result.

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
COPY scripts/sbom.mjs scripts/manifest.mjs scripts/runtime.mjs ./scripts/
ARG FOR_RELEASE=yes
RUN node scripts/runtime.mjs "$FOR_RELEASE"
RUN node scripts/sbom.mjs dist/licences && node scripts/manifest.mjs strip
COPY LICENSE ./
COPY config/sidecar.yaml config/schema.json ./config/

# /image becomes the image. All its files get the same time, so that the same source gives the same layer.
ARG SOURCE_DATE_EPOCH=0
RUN set -eu; \
    node=$(command -v node); \
    install -D -m 755 "$node" /image/usr/local/bin/node; \
    ldd "$node" | grep -o '/[^ ]*' | sort -u | xargs cp --dereference --parents --target-directory=/image; \
    mkdir -p /image/app /image/etc; \
    install -d -m 1777 /image/tmp; \
    cp -R package.json LICENSE dist config /image/app; \
    # The image has no env, so the script names its interpreter. V8's memory reducer is off: it takes calls that create no garbage for an
    # idle process (docs/install.md).
    sed -i '1s|.*|#!/usr/local/bin/node --no-memory-reducer|' /image/app/dist/main.js; \
    ln -s /app/dist/main.js /image/usr/local/bin/d2-sidecar; \
    echo 'nonroot:x:65532:65532::/:/nonexistent' > /image/etc/passwd; \
    echo 'nonroot:x:65532:' > /image/etc/group; \
    # Without this file, the C library would ask DNS before it reads /etc/hosts.
    echo 'hosts: files dns' > /image/etc/nsswitch.conf; \
    # The licences of the libraries require these texts; the base image may lack some of them.
    for file in /usr/local/LICENSE /usr/share/doc/libc6/copyright /usr/share/doc/libgcc-s1/copyright \
        /usr/share/doc/libstdc++6/copyright /usr/share/doc/libatomic1/copyright; do \
      if [ -f "$file" ]; then cp --dereference --parents --target-directory=/image "$file"; fi; \
    done; \
    chmod -R u=rwX,go=rX /image/app /image/usr /image/etc; \
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
# Without these, the C library keeps a memory arena for each helper thread, V8 starts four such threads, which compete with the event
# loop on a single processor, and V8's young heap takes 11 MB more (docs/install.md). SIGUSR1 never opens Node's debugger, not even
# before the program is loaded.
ENV PATH=/usr/local/bin \
    NODE_ENV=production \
    MALLOC_ARENA_MAX=1 \
    NODE_OPTIONS="--v8-pool-size=1 --max-semi-space-size=8 --disable-sigusr1"
# A number, so that Kubernetes can verify that it is not root (runAsNonRoot).
USER 65532:65532
EXPOSE 8081 9280
HEALTHCHECK --interval=10s --timeout=6s --start-period=5s --retries=3 CMD ["/usr/local/bin/d2-sidecar", "health"]
ENTRYPOINT ["/usr/local/bin/d2-sidecar"]
