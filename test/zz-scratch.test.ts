import net from 'node:net'; import http from 'node:http';
import { afterAll, beforeAll, describe, it, expect } from 'vitest';
import httpProxy from 'http-proxy';
import { dataPathCases } from './data-path.cases.ts';
import { CaseRunner } from './wire/run-case.ts';
import { ScriptedUpstream } from './wire/scripted-upstream.ts';
import { toComparable } from './wire/observation.ts';
let up: ScriptedUpstream; let runner: CaseRunner;
beforeAll(async () => { up = await ScriptedUpstream.listen(); runner = new CaseRunner(up); });
afterAll(() => up.close());
describe('tcp', () => {
  let s: net.Server;
  beforeAll(() => new Promise<void>((r) => { s = net.createServer({ allowHalfOpen: true }, (a) => {
    const b = net.connect({ port: up.port, host: '127.0.0.1', allowHalfOpen: true });
    a.pipe(b); b.pipe(a); a.on('error', () => b.destroy()); b.on('error', () => a.resetAndDestroy()); a.on('close', (e)=> e && b.destroy());
  }).listen(0, '127.0.0.1', () => r()); }));
  for (const c of dataPathCases.filter((c) => !c.sidecarOnly)) it(c.name, async () => {
    const d = await runner.run(c, up.port); const seen = await runner.run(c, (s.address() as any).port);
    expect(toComparable(seen, d, 'bytes')).toEqual(toComparable(d, d, 'bytes'));
  });
});
describe('plain http-proxy', () => {
  let s: http.Server;
  beforeAll(() => new Promise<void>((r) => { const p = httpProxy.createProxyServer({ target: `http://127.0.0.1:${up.port}` }); p.on('error', (_e, _q, res: any) => { res?.destroy?.(); });
   s = http.createServer({ maxHeaderSize: 65536 }, (q, w) => p.web(q, w)); s.on('upgrade', (q, k, h) => { k.on('error', () => undefined); p.ws(q, k, h); }); s.listen(0, '127.0.0.1', () => r()); }));
  process.on('uncaughtException', () => undefined);
  for (const c of dataPathCases.filter((c) => !c.sidecarOnly)) it(c.name, async () => {
    const d = await runner.run(c, up.port); const seen = await runner.run({ ...c, deadlineMs: c.deadlineMs ?? 700 }, (s.address() as any).port);
    const low = (o: any) => JSON.parse(JSON.stringify(o), (k, v) => k === 'fields' || k === 'trailers' ? v.map((l: string) => l.slice(0, l.indexOf(':')).toLowerCase() + l.slice(l.indexOf(':'))) : v);
    expect(low(toComparable(seen, d, 'meaning'))).toEqual(low(toComparable(d, d, 'meaning')));
  });
});
