/** The steps of which both scripts of a case are made, e.g. `upstream: [takeRequest, send(OK), finish]`. */
import type { CaseEnd, CaseRun, RawClient, UpstreamConnection } from './ends.ts';

export type Step<End> = (end: End, run: CaseRun) => unknown;
export type Script<End> = Step<End> | readonly Step<End>[];

export async function playSteps<End extends CaseEnd>(script: Script<End>, end: End): Promise<void> {
  for (const step of typeof script === 'function' ? [script] : script) await step(end, end.run);
}

export const send = (data: string | Buffer) => (end: CaseEnd) => end.send(data);
export const tunnelCame = (bytes: number) => (end: CaseEnd) => end.until(() => end.tunnel.length >= bytes);
export const untilEnded = (end: CaseEnd) => end.run.until(() => end.ending !== 'open');
/** FIN; what still comes is read, so that the kernel does not turn this into an RST that overtakes what was sent. */
export const finish = (end: CaseEnd) => void end.socket.end();
export const reset = (end: CaseEnd) => end.reset();
export const note = (text: string) => (end: CaseEnd) => end.run.note(text);
export const noted = (count: number) => (end: CaseEnd) => end.run.until(() => end.run.notes.length >= count);
export const contentCame = (bytes: number) => (end: CaseEnd) =>
  end.run.until(() => (end.run.requests.at(-1)?.body.bytes ?? 0) >= bytes);
export const requestsCame = (count: number) => (end: CaseEnd) =>
  end.run.until(() => end.run.requests.filter(({ isComplete }) => isComplete).length >= count);

export const takeHead = (upstream: UpstreamConnection) => upstream.head();
export const takeRequest = (upstream: UpstreamConnection) => upstream.request();
export const acceptUpgrade = (upstream: UpstreamConnection) => upstream.readOn('tunnel');
export const declineUpgrade = (upstream: UpstreamConnection) => upstream.readOn('head');

export const heads = (count: number) => (client: RawClient) => client.until(() => client.responses.length >= count);
export const finals = (count: number) => (client: RawClient) =>
  client.until(() => client.finals.filter(({ isComplete }) => isComplete).length >= count);
export const bodyCame = (bytes: number) => (client: RawClient) =>
  client.until(() => (client.responses.at(-1)?.body.bytes ?? 0) >= bytes);
/** Until every upstream connection of this run has been ended by the other side. */
export const upstreamEnded = ({ run }: CaseEnd) =>
  run.until(
    () => run.upstreamConnections.length > 0 && run.upstreamConnections.every(({ ending }) => ending !== 'open'),
  );
