/** docs/architecture.md, "The way of a request", against the files whose functions V8 counts while one is served. */
import { Session } from 'node:inspector/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { ROOT, readDocument } from '../../support/docs/documents.ts';
import { answering, OK, startStand } from '../../support/wire/stand.ts';

const FIELDS = 'Host: a\r\nAuthorization: Basic YTpi\r\nContent-Length: 2';
const RPC = `POST /smartWeb/api/rest/v0/d2/rpc/E.Demo/Test HTTP/1.1\r\n${FIELDS}\r\n\r\n{}`;

/** More would be hard to read along. */
const MAX_LISTED = 35;

/** They look for a proxy that is not listed, and are all among the slowest. */
const OF_THE_FIRST_100 = ['proxy/exchange/client-finder.ts', 'protocol/http1/text.ts'];

/** Files before the colon of each step, e.g. `proxy/relay/client-link.ts`; a name without a folder is in that of the one before. */
function listedFiles(): ReadonlySet<string> {
  const { text } = readDocument('docs/architecture.md');
  const cells = [...text.matchAll(/^\d+\. ([^:]*):/gm)].map(([, cell = '']) => cell).join();
  let folder = '';
  const files = [...cells.matchAll(/`([\w/-]+\.ts)`/g)].map(([, file = '']) => {
    if (file.includes('/')) folder = path.posix.dirname(file);
    return path.posix.join(folder, path.posix.basename(file));
  });
  return new Set(files);
}

it('docs/architecture.md lists the files that a call passes, and all of proxy/ and protocol/', async () => {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  const passedFiles = async () => {
    const { result } = await session.post('Profiler.takePreciseCoverage');
    const passed = result.filter(({ functions }) => functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0));
    return passed.flatMap(({ url }) => url.split(`${ROOT}/src/`)[1] ?? []);
  };
  const stand = await startStand({ onConnection: answering(OK) });
  try {
    await passedFiles();
    const client = stand.client();
    await client.ask(RPC);
    await stand.read('metrics/d2/rpc');
    const ofFirst = await passedFiles();
    const listed = listedFiles();
    expect([...listed].filter((file) => !ofFirst.includes(file))).toEqual([]);
    expect(listed.size).toBeLessThanOrEqual(MAX_LISTED);
    // Neither the connection nor the monitoring port. What runs once a second is in some of the calls only.
    let ofEach = ofFirst.filter((file) => /^pro(?:xy|tocol)\//.test(file) && !OF_THE_FIRST_100.includes(file));
    for (let call = 0; call < 8; call += 1) {
      await passedFiles();
      await client.ask(RPC);
      const passed = await passedFiles();
      ofEach = ofEach.filter((file) => passed.includes(file));
    }
    expect(ofEach.filter((file) => !listed.has(file))).toEqual([]);
  } finally {
    await stand.close();
    session.disconnect();
  }
});
