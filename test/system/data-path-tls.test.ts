/** The suite of `data-path.cases.ts` with TLS on either side and on both: both ends see the same as without sidecar and TLS. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Config, ListenerTls, UpstreamTls } from '../../src/config/config.ts';
import { someOf } from '../support/effort.ts';
import { CertificateFolder, type Pair, textOf } from '../support/tls/certificates.ts';
import { type RunningSidecar, startSidecar } from '../support/wire/data-paths.ts';
import { dataPathCases } from './data-path.cases.ts';
import { splitCases, splitHandoverCases } from './wire/cases/splits.ts';
import type { DataPathCase } from './wire/data-path-case.ts';
import { EVERY_SPLIT_LIMIT, playEverySplit } from './wire/every-split.ts';
import { type Exactness, type Observation, toComparable } from './wire/observation.ts';
import { CaseRunner } from './wire/run-case.ts';
import { ScriptedUpstream } from './wire/scripted-upstream.ts';

const folder = new CertificateFolder();
let authority: Pair;
let own: Pair;
let plain: ScriptedUpstream;
let secure: ScriptedUpstream;
const direct = new Map<DataPathCase, Promise<Observation>>();

/** What both ends see without a sidecar; played once for each case. */
function directly(subject: DataPathCase): Promise<Observation> {
  const known = direct.get(subject) ?? new CaseRunner(plain).run(subject, plain.port);
  direct.set(subject, known);
  return known;
}

beforeAll(async () => {
  authority = folder.authority();
  own = folder.signed(authority, { name: 'localhost' });
  plain = await ScriptedUpstream.listen();
  secure = await ScriptedUpstream.listen({ cert: textOf(own.certFile), key: textOf(own.keyFile) });
});

afterAll(async () => {
  await Promise.all([plain.close(), secure.close()]);
  folder.remove();
});

const paths: readonly { name: 'relay' | 'gateway'; dataPath: Config['dataPath']; exactness: Exactness }[] = [
  { name: 'relay', dataPath: 'auto', exactness: 'fields' },
  { name: 'gateway', dataPath: 'gateway', exactness: 'meaning' },
];

const ends = [
  { name: 'TLS at the client', hasClient: true, hasUpstream: false },
  { name: 'TLS at the upstream', hasClient: false, hasUpstream: true },
  { name: 'TLS at both ends', hasClient: true, hasUpstream: true },
] as const;

for (const path of paths) {
  for (const { name, hasClient, hasUpstream } of ends) {
    describe(`through the ${path.name}, ${name}`, () => {
      let sidecar: RunningSidecar;
      let runner: CaseRunner;

      beforeAll(async () => {
        const upstream = hasUpstream ? secure : plain;
        const listenTls: ListenerTls = { ...own, clientCaFile: undefined, clientAuth: 'none' };
        const upstreamTls: UpstreamTls = { ...UPSTREAM_TLS, caFile: authority.certFile };
        sidecar = await startSidecar({
          dataPath: path.dataPath,
          upstreamPort: upstream.port,
          listenTls: hasClient ? listenTls : undefined,
          upstreamTls: hasUpstream ? upstreamTls : undefined,
        });
        runner = new CaseRunner(upstream, hasClient ? textOf(authority.certFile) : undefined);
      });

      afterAll(() => sidecar.close());

      const expectSame = (subject: DataPathCase, seen: Observation, straight: Observation) => {
        const exactness = subject.isIrregular === true ? 'meaning' : path.exactness;
        expect(toComparable(seen, straight, exactness)).toEqual(toComparable(straight, straight, exactness));
      };

      // The code is the same for one end or both.
      for (const subject of someOf(dataPathCases, hasClient && hasUpstream ? 2 : 6)) {
        const known = subject.knownDifference?.[path.name];
        it.skipIf(known !== undefined)(known === undefined ? subject.name : `${subject.name} (${known})`, async () => {
          const seen = await runner.run(subject, sidecar.port);
          if (subject.sidecarOnly === undefined) expectSame(subject, seen, await directly(subject));
          expect(seen.responses.map(({ startLine }) => Number(startLine.split(' ')[1]))).toEqual(subject.statuses);
          subject.verify?.(seen);
        });
      }

      // Cut elsewhere, TLS delivers one record or two: the same code reads both.
      const subject = hasClient && hasUpstream ? splitCases[0] : splitHandoverCases[0];
      it(`in two segments: ${subject?.name}`, EVERY_SPLIT_LIMIT, async () => {
        if (subject === undefined) throw new Error('there is no such case');
        const straight = await directly(subject);
        await playEverySplit(subject, runner, sidecar.port, straight, (seen) => expectSame(subject, seen, straight));
      });
    });
  }
}

const UPSTREAM_TLS: UpstreamTls = {
  caFile: undefined,
  serverName: undefined,
  verify: true,
  certFile: undefined,
  keyFile: undefined,
};
