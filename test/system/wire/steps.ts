/** The steps of which both scripts of a case are made, e.g. `upstream: [takeRequest, send(OK), finish]`. */
import type { CaseEnd } from './case-end.ts';
import type { CaseRun } from './case-run.ts';
import type { RawClient } from './raw-client.ts';
import type { UpstreamConnection } from './scripted-upstream.ts';

export type Step<End> = (end: End, run: CaseRun) => unknown;
export type Script<End> = Step<End> | readonly Step<End>[];

export async function playSteps<End extends CaseEnd>(script: Script<End>, end: End): Promise<void> {
  for (const step of typeof script === 'function' ? [script] : script) await step(end, end.run);
}

export const send = (data: string | Buffer) => (end: CaseEnd) => end.send(data);
export const tunnelCame = (bytes: number) => (end: CaseEnd) => end.tunnelCame(bytes);
export const untilEnded = (end: CaseEnd) => end.ended();
export const finish = (end: CaseEnd) => end.finish();
export const reset = (end: CaseEnd) => end.reset();
export const note = (text: string) => (end: CaseEnd) => end.run.note(text);
export const noted = (count: number) => (end: CaseEnd) => end.run.noted(count);
export const contentCame = (bytes: number) => (end: CaseEnd) => end.run.bodyCame(bytes);
export const requestsCame = (count: number) => (end: CaseEnd) => end.run.requestsCame(count);

export const takeHead = (upstream: UpstreamConnection) => upstream.head();
export const takeRequest = (upstream: UpstreamConnection) => upstream.request();
export const acceptUpgrade = (upstream: UpstreamConnection) => upstream.acceptUpgrade();
export const declineUpgrade = (upstream: UpstreamConnection) => upstream.declineUpgrade();

export const finals = (count: number) => (client: RawClient) => client.finals(count);
export const heads = (count: number) => (client: RawClient) => client.heads(count);
export const bodyCame = (bytes: number) => (client: RawClient) => client.bodyCame(bytes);
export const upstreamEnded = (client: RawClient) => client.run.upstreamEnded();
