/** What the upstream of an abuse run serves, and the phases of a flood; shared by all its processes. */

export const COMET_PATH = '/smartWeb/api/cometd';
export const RPC_PATH = '/smartWeb/api/rest/v0/d2/rpc/Plant/Small';
/** A name that is new after a flood. */
export const LATE_PATH = '/smartWeb/api/rest/v0/d2/rpc/Plant/SmallLate';
export const LATE_NAME = 'Plant.SmallLate';
/** Answered 501 below it, without a login. */
export const FAILING_PATH = '/smartWeb/api/rest/v0/d2/rpc/Failing/';
/** Answered with 5 MiB. */
export const LARGE_PATH = '/smartWeb/api/rest/v0/d2/rpc/Plant/Large';
/** The upstream never reads uploads to this path. */
export const UNREAD_PATH = '/smartWeb/unread';
/** The upstream never answers this path; it needs no login. */
export const HOLD_PATH = '/hold';
/** In the query of `COMET_PATH`: the body is read, but never answered. */
export const HOLD_QUERY = 'hold=1';

export const USERS_ADDRESS = '127.0.0.1';
export const ATTACKER_ADDRESS = '127.0.0.2';

/** Users of the upstream. The attacker has an account in the floods that need one. */
export const HONEST_CREDENTIAL = toBasic('honest', 'right');
/** A field of uploads in very many chunks, which the upstream reads to their end without looking at each. */
export const MANY_CHUNKS = 'X-Many-Chunks';
export const ATTACKER_CREDENTIAL = toBasic('mallory', 'right');
export const ATTACKER_COOKIE = 'JSESSIONID=accepted';
/** In `ext.authentication` of a handshake. */
export const ATTACKER_LOGIN = { user: 'mallory', credentials: 'right' };

export const HONEST_OBJECTS: readonly string[] = Array.from({ length: 20 }, (_, i) => `Honest${i}`);
export const OBJECT_PREFIX = '/d2/object/';

export const MONITOR_PASSWORD = 'right-password';
/** Readers of the monitoring port: the first reads all the time, each of the others once. */
export const MONITOR_READERS: readonly string[] = Array.from({ length: 60 }, (_, i) => `reader${i}`);

export function toBasic(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}

/** Phases of a flood, in order. Only calls of `CALM` and `FLOOD` are compared. */
export const WARM_UP = 'warm-up';
export const CALM = 'calm';
export const FLOOD = 'flood';
export const RECOVERY = 'recovery';

/** Of the setting `pkcs12`, in the folder of the run. */
export const PFX_FILE = 'tls.pfx';
export const RENEWED_PFX_FILES: readonly string[] = ['renewed-1.pfx', 'renewed-2.pfx'];
