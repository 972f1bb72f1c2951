/** Messages to real receivers: a webhook, and Debian's exim. */
import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { SILENT } from '../../src/base/logger.ts';
import { createChannels } from '../../src/export/alerts/alerts.ts';
import { deferTo, temporaryFolder } from '../support/deferred.ts';
import { hasExim, startMailServer } from '../support/export/alerts/exim.ts';
import { alertsConfig, openAlerts } from '../support/export/alerts/stand.ts';
import { HUNG } from '../support/measure/verdict-evidence.ts';
import { portOf, send, startApplication, toUnusedPort } from '../support/net.ts';
import { jsonOf, runSidecar, type SidecarProcess, startConfigured, verdictOf } from '../support/sidecar-process.ts';
import { CertificateFolder } from '../support/tls/certificates.ts';

const defer = deferTo(afterAll);
const SECRET = 'the key of the signature';

interface Received {
  readonly atMs: number;
  readonly signature: unknown;
  readonly body: string;
  readonly message: Readonly<Record<string, unknown>>;
}

/** Answers with `status` until the test changes it. */
async function startReceiver() {
  const received: Received[] = [];
  const receiver = { received, status: 200, refused: 0 };
  const hook = await startApplication((request, response, body) => {
    response.statusCode = receiver.status;
    response.end();
    if (receiver.status !== 200) {
      receiver.refused += 1;
      return;
    }
    if (request.method !== 'POST') return;
    const message = JSON.parse(body) as Received['message'];
    received.push({ atMs: performance.now(), signature: request.headers['x-signature'], body, message });
  }, defer);
  return Object.assign(receiver, { url: `http://127.0.0.1:${hook.port}/hooks/t0ken-hush?sig=s3cr3t` });
}

async function untilCode(sidecar: SidecarProcess, isIt: (code: string) => boolean): Promise<number> {
  await vi.waitUntil(async () => isIt((await verdictOf(sidecar)).code), { timeout: 40_000, interval: 50 });
  return performance.now();
}

const socketOf = (sidecar: SidecarProcess) => ['--pid', String(sidecar.pid)];

describe('a webhook', () => {
  it('gets each event once and in time, signed, over a refusal, a restart and a silence; no secret is told', {
    timeout: 180_000,
  }, async () => {
    const application = await startApplication((_, response) => response.end('{"value":1}'), defer);
    const receiver = await startReceiver();
    const folder = temporaryFolder(defer);
    const secretFile = path.join(folder, 'secret');
    writeFileSync(secretFile, `${SECRET}\n`, { mode: 0o600 });
    const state = { file: path.join(folder, 'state') };
    const config = { state, jvm: { source: 'none' }, alerts: { webhook: { url: receiver.url, secretFile } } };
    const start = () => startConfigured(defer, `http://127.0.0.1:${application.port}/smartWeb`, config);
    const first = await start();
    const tested = await runSidecar(['alerts', 'test', ...socketOf(first)]);
    expect(tested).toMatchObject({ code: 0, stdout: 'webhook: sent, the receiver answered: 200\n' });
    expect(receiver.received[0]?.message).toMatchObject({ event: 'test', application: 'smartWeb', until: null });
    receiver.received.length = 0;

    receiver.status = 503;
    application.close();
    await send(portOf(first.listen), '/smartWeb/').catch(() => undefined);
    const codeAtMs = await untilCode(first, (code) => code === 'upstream-unreachable');
    await vi.waitUntil(() => receiver.refused === 1, { timeout: 10_000 });
    const firstTryMs = performance.now();
    expect(firstTryMs - codeAtMs).toBeLessThan(10_000);
    receiver.status = 200;
    await vi.waitUntil(() => receiver.received.length === 1, { timeout: 10_000 });
    const [begins] = receiver.received as [Received];
    expect(begins.atMs - firstTryMs).toBeLessThan(5_000);
    const code = 'upstream-unreachable';
    expect(begins.message).toMatchObject({ event: 'begins', subject: 'server', code, until: null });
    expect(begins.signature).toBe(`sha256=${createHmac('sha256', SECRET).update(begins.body).digest('hex')}`);

    await first.stop();
    const second = await start();
    await send(portOf(second.listen), '/smartWeb/').catch(() => undefined);
    await untilCode(second, (code) => code === 'upstream-unreachable');
    // As long as a second beginning would take.
    await wait(5_000);
    expect(receiver.received).toHaveLength(1);
    application.server.listen(application.port, '127.0.0.1');
    const goneAtMs = await untilCode(second, (code) => code !== 'upstream-unreachable');
    await vi.waitUntil(() => receiver.received.length === 2, { timeout: 25_000 });
    const ends = receiver.received[1] as Received;
    expect(ends.atMs - goneAtMs).toBeLessThan(20_000);
    expect(ends.message).toMatchObject({ event: 'ends', id: begins.message.id, since: begins.message.since });
    expect(String(ends.message.until)).toMatch(/^\d{4}-.*Z$/);

    const silenced = await runSidecar(['silence', '1h', 'index build', ...socketOf(second)]);
    expect(silenced.stdout).toMatch(/: no messages until \d{4}-\d\d-\d\d \d\d:\d\d UTC\n$/);
    application.close();
    await send(portOf(second.listen), '/smartWeb/').catch(() => undefined);
    await untilCode(second, (code) => code === 'upstream-unreachable');
    await wait(5_000);
    expect(receiver.received).toHaveLength(2);
    const { alerts, marks } = await jsonOf<{ alerts: object; marks: { text: string }[] }>(
      `http://${second.monitor}/live`,
    );
    expect(alerts).toMatchObject({ silence: { text: 'index build' }, channels: [{ channel: 'webhook', waiting: 0 }] });
    expect(marks.map(({ text }) => text)).toContain('No messages are sent: index build.');
    const ended = await runSidecar(['silence', 'off', ...socketOf(second)]);
    expect(ended.stdout).toMatch(/: messages are sent again\n$/);
    await vi.waitUntil(() => receiver.received.length === 3, { timeout: 10_000 });
    expect(receiver.received[2]?.message).toMatchObject({ event: 'begins' });

    const metrics = (await send(portOf(second.monitor), '/metrics')).body;
    expect(metrics).toContain('d2_sidecar_alerts_sent_total{channel="webhook"} 2');
    const everything = [
      metrics,
      JSON.stringify([...first.logs, ...second.logs]),
      ...receiver.received.map(({ body }) => body),
    ];
    const report = await runSidecar(['report', ...socketOf(second)]);
    for (const text of [...everything, report.stdout]) {
      expect(text).not.toContain('t0ken-hush');
      expect(text).not.toContain('s3cr3t');
      expect(text).not.toContain(SECRET);
    }
  });

  it('check --connect reaches the receivers, and says which cannot be', async () => {
    const application = await startApplication((_, response) => response.end('{}'), defer);
    const receiver = await startReceiver();
    const check = (alerts: object) => {
      const file = path.join(temporaryFolder(defer), 'sidecar.yaml');
      const upstream = { url: `http://127.0.0.1:${application.port}/smartWeb` };
      writeFileSync(file, JSON.stringify({ upstream, jvm: { source: 'none' }, alerts }), { mode: 0o600 });
      return runSidecar(['check', '--connect', '--config', file]);
    };
    const good = await check({ webhook: { url: receiver.url } });
    expect(good).toMatchObject({ code: 0 });
    expect(good.stdout).toContain('# alerts.webhook: the receiver can be reached, and answers: 200 to HEAD');
    expect(good.stdout).not.toContain('t0ken-hush');
    const unused = await toUnusedPort();
    const bad = await check({
      webhook: { url: `http://127.0.0.1:${unused}/x` },
      mail: { smtp: `smtp://127.0.0.1:${unused}`, from: 'a@example.org', to: ['b@example.org'] },
    });
    expect(bad.code).toBe(1);
    expect(bad.stderr).toContain('alerts.webhook: the receiver refused the connection (ECONNREFUSED)');
    expect(bad.stderr).toContain('alerts.mail: the mail server');
  });
});

describe.skipIf(!hasExim)('Debian’s exim', () => {
  const certificates = new CertificateFolder();
  defer(() => certificates.remove());
  const authority = certificates.authority();
  const certificate = certificates.signed(authority, { name: 'mail.example.org' });
  const login = { user: 'd2-sidecar', password: 'a pass word' };
  const passwordFile = certificates.file('password', `${login.password}\n`);
  const mailBy = ({ port }: { readonly port: number }, more = {}) => ({
    ...{ smtp: `smtp://127.0.0.1:${port}`, from: 'd2@example.org', to: ['operators@example.org'] },
    ...{ user: login.user, passwordFile, caFile: authority.certFile, ...more },
  });

  it('gets each mail once after it was down for an hour, by STARTTLS with a login', { timeout: 60_000 }, async () => {
    const server = await startMailServer(defer, { certificate, ...login });
    const alerts = { mail: mailBy(server, { to: ['operators@example.org', 'boss@example.org'] }) };
    // The hour passes by a clock that the test moves; each try is a real one.
    const opened = await openAlerts({ alerts, channels: await createChannels(alertsConfig(alerts), SILENT) });
    const { pass } = opened;
    for (let turn = 0; turn < 2; turn += 1) {
      await pass(300, { hung: HUNG });
      await pass(1_500);
    }
    const reason = 'the mail server refused the connection (ECONNREFUSED)';
    expect(opened.alerts.state.channels[0]).toMatchObject({ channel: 'mail', waiting: 4, failure: { reason } });
    await server.start();
    await pass(301);
    expect(opened.alerts.state.channels[0]).toMatchObject({ waiting: 0, failure: null });
    await vi.waitUntil(() => server.mails().length >= 4, { timeout: 30_000, interval: 100 });
    // Exim delivers several at once, so their files are in no order.
    const mails = server.mails();
    const subjects = mails.map((text) => /^Subject: (.*)$/m.exec(text)?.[1]);
    const about = '/smartWeb: hung calls, P.Report (server)';
    const [begins, ends] = [`[d2-sidecar] Begins: ${about}`, `[d2-sidecar] Over: ${about}`];
    expect(subjects.sort()).toEqual([begins, begins, ends, ends]);
    const idOf = (text: string, field: string) => new RegExp(`^${field}: <(.*)>$`, 'm').exec(text)?.[1];
    const ids = mails.map((text) => idOf(text, 'Message-ID'));
    expect(new Set(ids).size).toBe(4);
    for (const text of mails) {
      if (text.includes('Subject: [d2-sidecar] Over')) expect(ids).toContain(idOf(text, 'In-Reply-To'));
      expect(text).toMatch(/with esmtpsa/i);
      expect(text).not.toContain(login.password);
    }
  });

  it('refusals are said: a wrong password, no TLS, an unknown receiver', { timeout: 60_000 }, async () => {
    const server = await startMailServer(defer, { certificate, ...login });
    await server.start();
    const application = await startApplication((_, response) => response.end('{}'), defer);
    const answerOf = async (change: object) => {
      const config = { jvm: { source: 'none' }, alerts: { mail: mailBy(server, change) } };
      const sidecar = await startConfigured(defer, `http://127.0.0.1:${application.port}/smartWeb`, config);
      const { code, stdout, stderr } = await runSidecar(['alerts', 'test', ...socketOf(sidecar)]);
      await sidecar.stop();
      return `${code} ${stdout}${stderr}`.trim();
    };
    const wrong = certificates.file('wrong', 'wrong');
    expect(await answerOf({})).toBe('0 mail: sent, the receiver answered: accepted for 1 of 1 addresses');
    const prefix = '1 d2-sidecar: mail: not sent: the mail server';
    expect(await answerOf({ passwordFile: wrong })).toBe(
      `${prefix} refused the login: are alerts.mail.user and passwordFile right? (SMTP 535)`,
    );
    expect(await answerOf({ user: undefined, passwordFile: undefined })).toBe(
      `${prefix} refused the sender or all receivers (SMTP 550)`,
    );
    expect(await answerOf({ to: ['operators@example.org', 'nobody@example.org'] })).toBe(
      `${prefix} refused 1 of 2 addresses of alerts.mail.to`,
    );
    expect(await answerOf({ caFile: undefined })).toMatch(/cannot be reached by TLS|does not agree on TLS/);
  });
});
