/** A remote call as our Comet peers speak it. The caller chooses in the call how the plant answers. */

export type ServiceName = 'rpc' | 'rpcJava' | 'rpcSBA';

/**
 * How the plant answers:
 * - `data`: one message, the acknowledgement with the data in it (as CometD servers answer a remote call);
 * - `late`: the plain acknowledgement first, the data in a message of its own later;
 * - `ack`: the plain acknowledgement, and nothing else ever;
 * - `refused`: `successful: false` with an error; `refused-late`: acknowledged, then `successful: false` with data.
 */
export type AnswerManner = 'ack' | 'data' | 'late' | 'refused' | 'refused-late';

export interface PlantCall {
  readonly service: ServiceName;
  readonly eventName: string;
  readonly interfaceName?: string;
  readonly rpcName: string;
  readonly manner: AnswerManner;
  readonly workMs: number;
}

/** Name in the statistics: `rpc.E.Boiler.Control.Start`, `sba.E.Files.Download`. */
export function metricNameOf({ service, eventName, interfaceName, rpcName }: PlantCall): string {
  const kind = service === 'rpcSBA' ? 'sba' : 'rpc';
  return [kind, eventName, ...(interfaceName === undefined ? [] : [interfaceName]), rpcName].join('.');
}

export function isFailure({ manner }: PlantCall): boolean {
  return manner === 'refused' || manner === 'refused-late';
}

export function channelOf({ service }: PlantCall): string {
  return `/service/d2/${service}`;
}

export function dataOf({ service: _, ...data }: PlantCall): object {
  return { ...data, parameters: ['č', 1, { nested: [true, null] }] };
}

/** The call that a message carries; undefined on a channel without calls. */
export function toPlantCall(channel: string, data: unknown): PlantCall | undefined {
  const service = /^\/service\/d2\/(rpc|rpcJava|rpcSBA)$/.exec(channel)?.[1];
  return service === undefined ? undefined : { ...(data as PlantCall), service: service as ServiceName };
}

export function answerOf(call: PlantCall): object {
  return isFailure(call) ? { error: 'E_FAILED' } : { result: call.rpcName, rows: [1, 2, 3] };
}
