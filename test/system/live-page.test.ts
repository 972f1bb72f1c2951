/** The live page as built: found beside the program, complete, small, and loadable under its policy. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SECURITY_FIELDS } from '../../src/monitor/send.ts';
import { flagsFor, type SidecarProcess, startSidecarProcess } from '../support/sidecar-process.ts';

let sidecar: SidecarProcess;
beforeAll(async () => {
  sidecar = await startSidecarProcess(flagsFor(1), { D2_SIDECAR_JVM_SOURCE: 'none' });
});

afterAll(() => sidecar.stop());

function ask(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  return fetch(new URL(path, `http://${sidecar.monitor}/`), { headers });
}

/** Files that the page refers to, e.g. `page/page.js`. */
async function references(): Promise<readonly string[]> {
  const html = await (await ask('/')).text();
  return [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map((match) => match[1] as string);
}

describe('the built page', () => {
  it('is served at the root, with its policy', async () => {
    const response = await ask('/');
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      ...SECURITY_FIELDS,
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    });
    await response.text();
  });

  it('refers only to its own files, all of which exist', async () => {
    const files = await references();
    expect(files).toEqual(expect.arrayContaining(['page/page.js', 'page/page.css', 'page/icon.svg']));
    for (const file of files) {
      expect(file).toMatch(/^page\/[\w.-]+$/);
      const response = await ask(file);
      expect([file, response.status]).toEqual([file, 200]);
      await response.text();
    }
  });

  it('has nothing inline that its policy forbids', async () => {
    const html = await (await ask('/')).text();
    expect(html).not.toMatch(/<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)|javascript:|<base/i);
  });

  it.each(['br', 'gzip'])('is below 150 KB in %s, all files together', async (coding) => {
    let bytes = 0;
    for (const file of ['/', ...(await references())]) {
      const response = await ask(file, { 'accept-encoding': coding });
      expect([file, response.headers.get('content-encoding')]).toEqual([file, coding]);
      bytes += Number(response.headers.get('content-length'));
      await response.text();
    }
    expect(bytes).toBeGreaterThan(10_000);
    expect(bytes).toBeLessThan(150_000);
  });

  it('finds its data', async () => {
    const response = await ask('/live');
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json']);
    expect(await response.json()).toMatchObject({ applications: [{ name: 'smartWeb' }], role: 'sessions' });
  });
});
