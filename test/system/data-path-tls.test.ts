/** The suite of `data-path.cases.ts` with TLS on either side and on both: both ends see the same as without sidecar and TLS. */
import { afterAll, beforeAll, describe, it } from 'vitest';
import { someOf } from '../support/effort.ts';
import { CertificateFolder, type Pair, textOf } from '../support/tls/certificates.ts';
import { listenerTls } from '../support/tls/secure-stand.ts';
import { type RunningSidecar, startSidecar } from '../support/wire/data-paths.ts';
import { dataPathCases } from './data-path.cases.ts';
import { splitCases } from './wire/cases/connections.ts';
import { Comparison, EVERY_SPLIT_LIMIT, GATEWAY, RELAY } from './wire/comparison.ts';
import { CaseRunner } from './wire/run-case.ts';
import { ScriptedUpstream } from './wire/scripted-upstream.ts';

const folder = new CertificateFolder();
let authority: Pair;
let own: Pair;
let plain: Comparison;
let secure: ScriptedUpstream;

beforeAll(async () => {
  authority = folder.authority();
  own = folder.signed(authority, { name: 'localhost' });
  plain = await Comparison.start();
  secure = await ScriptedUpstream.listen({ cert: textOf(own.certFile), key: textOf(own.keyFile) });
});

afterAll(async () => {
  await Promise.all([plain.close(), secure.close()]);
  folder.remove();
});

const ends = [
  { name: 'TLS at the client', hasClient: true, hasUpstream: false },
  { name: 'TLS at the upstream', hasClient: false, hasUpstream: true },
  { name: 'TLS at both ends', hasClient: true, hasUpstream: true },
] as const;

for (const path of [RELAY, GATEWAY]) {
  for (const { name, hasClient, hasUpstream } of ends) {
    describe(`through the ${path.name}, ${name}`, () => {
      let sidecar: RunningSidecar;
      let runner: CaseRunner;

      beforeAll(async () => {
        const upstream = hasUpstream ? secure : plain.upstream;
        const noFiles = { certFile: undefined, keyFile: undefined };
        const upstreamTls = { ...noFiles, caFile: authority.certFile, serverName: undefined, verify: true };
        sidecar = await startSidecar({
          dataPath: path.dataPath,
          upstreamPort: upstream.port,
          listenTls: hasClient ? listenerTls(own) : undefined,
          upstreamTls: hasUpstream ? upstreamTls : undefined,
        });
        runner = new CaseRunner(upstream, hasClient ? textOf(authority.certFile) : undefined);
      });

      afterAll(() => sidecar.close());

      if (hasClient && hasUpstream) {
        for (const subject of someOf(dataPathCases, 2)) {
          const known = subject.knownDifference?.[path.name];
          it.skipIf(known !== undefined)(known === undefined ? subject.name : `${subject.name} (${known})`, () =>
            plain.play(subject, sidecar.port, path, runner),
          );
        }
        return;
      }

      // The code is the same for one end or both.
      it('a part of the cases', EVERY_SPLIT_LIMIT, async () => {
        const part = dataPathCases.filter(({ deadlineMs }, index) => deadlineMs === undefined && index % 6 === 0);
        await plain.playAll(part, sidecar.port, path, { runner });
      });

      // Cut elsewhere, TLS delivers one record or two.
      it.each(splitCases.slice(0, 1))('in two segments: $name', EVERY_SPLIT_LIMIT, async (subject) => {
        await plain.playEverySplit(subject, sidecar.port, path, runner);
      });
    });
  }
}
