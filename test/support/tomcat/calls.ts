/** The calls of five users that the test sends: user, call and order; sent and measured as their clients do. */
import { request } from 'undici';
import { Random } from '../fuzz/random.ts';
import { basic } from '../monitor/access/access-files.ts';

export interface User {
  /** The name in the session list; null for a key without a configured user. */
  readonly userName: string | null;
  readonly password?: string;
  readonly key?: string;
}

interface Target {
  readonly kind: 'rpc' | 'sba' | 'object' | 'login' | 'logout' | 'none';
  readonly name: string;
  readonly path: string;
  readonly bodyBytes: number;
}

interface Call extends Target {
  readonly user: User;
  readonly hasWrongSecret: boolean;
}

export interface AnsweredCall extends Call {
  readonly status: number;
  readonly seconds: number;
}

const AT_ONCE_EACH = 2;

export const USERS = {
  anna: { userName: 'anna', password: 'word of anna' },
  bela: { userName: 'bela', password: 'word:of:bela' },
  zofia: { userName: 'žofia', password: 'heslo žofie' },
  dana: { userName: 'dana', key: 'key-of-dana' },
  robot: { userName: null, key: 'key-of-the-robot' },
} as const satisfies Record<string, User>;

export const ALL_USERS: readonly User[] = Object.values(USERS);

const target = (kind: Target['kind'], name: string, path: string, bodyBytes = 0): Target => {
  return { kind, name, path, bodyBytes };
};
const rpc = (path: string, name: string) => target('rpc', name, `d2/rpc/${path}`, 12);
const download = (method: string, bytes: number) =>
  target('sba', `E.Files.${method}`, `d2/sba/E.Files/${method}?fileName=a%20b.bin&param=${bytes}`);
const upload = (bytes: number) => target('sba', 'E.Files.Upload', 'd2/sba/E.Files/Upload?fileName=a.bin', bytes);
const object = (name: string) => target('object', name, `d2/object/${encodeURIComponent(name)}`);
const archive = (name: string, bytes = 0) =>
  target('object', name, `d2/archive/${encodeURIComponent(name)}?beginTime=0&oversampleSeconds=60`, bytes);

const LOGIN = target('login', '', 'd2/auth/login');
const LOGOUT = target('logout', '', 'd2/auth/logout');
const ADMIN = target('none', '', 'admin/metrics/d2');
const FAIL = rpc('E.Demo/Fail', 'E.Demo.Fail');
const UNKNOWN_RPC = rpc('E.Demo/NoSuchMethod', 'E.Demo.NoSuchMethod');
const UNKNOWN_OBJECT = object('nothing');
const FIRST_READ = archive('H.Temperature');

/** Called one at a time only, so that the client measures the call and not the load of two cores. */
export const STEADY = [rpc('E.Demo/Sleep20', 'E.Demo.Sleep20'), download('Download', 100_000)] as const;
/** Called by all users at once, with a minimum duration of the server. */
export const BUSY = rpc('java/interface/E.Kotol%C5%88a/Okruh/Sleep8', 'E.Kotolňa.Okruh.Sleep8');
const CROWDED: readonly Target[] = [
  BUSY,
  FAIL,
  rpc('E.Demo/TestInOut', 'E.Demo.TestInOut'),
  rpc('interface/E.Demo/Loop/TestInOut', 'E.Demo.Loop.TestInOut'),
  rpc('java/E.Java/Sleep3', 'E.Java.Sleep3'),
  rpc('japi/P.Calc/TestInOut', 'P.Calc.TestInOut'),
  rpc('japi/interface/P.Calc/Year/Sleep1', 'P.Calc.Year.Sleep1'),
  download('Fail', 1),
  upload(200_000),
  FIRST_READ,
  archive('H.Výkon kotla', 2),
  object('V.Valve_1'),
  archive('H.Broken'),
];
const NAMED: readonly Target[] = [...STEADY, ...CROWDED];

const STEADY_CALLS_EACH = 12;

/** The calls of phases, each of which begins when the previous one has ended; together exactly `total`. The same for the same seed. */
export function createPhases(total: number, seed: number) {
  const beginning = createBeginning();
  const steady = Array.from({ length: STEADY_CALLS_EACH }, () =>
    ALL_USERS.flatMap((user) => STEADY.map((target) => call(user, target))),
  ).flat();
  const ending = [call(USERS.dana, LOGOUT)];
  const random = new Random(seed);
  const crowd = Array.from({ length: total - beginning.length - steady.length - ending.length }, (_, index) =>
    toCrowdCall(random, ALL_USERS[index % ALL_USERS.length] as User),
  );
  return { beginning, crowd, steady, ending };
}

function createBeginning(): Call[] {
  const { anna, bela, zofia, dana, robot } = USERS;
  return [
    // None of these begins a session, and only the failure creates a name.
    { ...call(anna, STEADY[0]), hasWrongSecret: true },
    { ...call(robot, FIRST_READ), hasWrongSecret: true },
    call(anna, UNKNOWN_RPC),
    call(anna, FAIL),
    // Each way to begin a session.
    call(anna, LOGIN),
    call(bela, STEADY[0]),
    call(zofia, FIRST_READ),
    call(dana, upload(10)),
    call(robot, BUSY),
    // A user who logs out and in again has a new session, without the old counts.
    call(bela, LOGOUT),
    call(bela, STEADY[0]),
    // From here on every name exists, globally and for each session.
    ...NAMED.flatMap((target) => ALL_USERS.map((user) => call(user, target))),
  ];
}

function toCrowdCall(random: Random, user: User): Call {
  const share = random.below(100);
  if (share < 2) return { ...call(user, random.pick(CROWDED)), hasWrongSecret: true };
  if (share < 4) return call(user, UNKNOWN_RPC);
  if (share < 6) return call(user, random.pick([UNKNOWN_OBJECT, ADMIN, LOGIN]));
  return call(user, share < 30 ? BUSY : random.pick(CROWDED));
}

function call(user: User, target: Target): Call {
  return { ...target, user, hasWrongSecret: false };
}

/** One call at a time, so that their order is known. `base` e.g. `http://127.0.0.1:8081/smartWeb/api/rest/v0/`. */
export async function sendInOrder(base: string, calls: Iterable<Call>): Promise<AnsweredCall[]> {
  const answered: AnsweredCall[] = [];
  for (const call of calls) answered.push(await send(base, call));
  return answered;
}

/** All users at once, each with several calls at a time. */
export async function sendAtOnce(base: string, calls: readonly Call[]): Promise<AnsweredCall[]> {
  const queues = ALL_USERS.flatMap((user) =>
    Array(AT_ONCE_EACH).fill(calls.filter((call) => call.user === user).values()),
  );
  return (await Promise.all(queues.map((queue) => sendInOrder(base, queue)))).flat();
}

async function send(base: string, call: Call): Promise<AnsweredCall> {
  const { kind, bodyBytes, hasWrongSecret, user } = call;
  const [type, filling] = kind === 'sba' ? ['application/octet-stream', 0xd2] : ['application/json', '[1]'];
  const [password, key] = hasWrongSecret ? ['mistyped', 'mistyped'] : [user.password ?? '', user.key];
  const credentials =
    user.key === undefined ? { authorization: basic(user.userName ?? '', password) } : { 'x-api-key': key };
  const content = bodyBytes === 0 ? {} : { method: 'POST' as const, body: Buffer.alloc(bodyBytes, filling) };
  const headers = { ...credentials, ...(bodyBytes > 0 && { 'content-type': type }) };
  const began = performance.now();
  const answer = await request(base + call.path, { ...content, headers });
  await answer.body.dump({ limit: Number.POSITIVE_INFINITY });
  return { ...call, status: answer.statusCode, seconds: (performance.now() - began) / 1000 };
}
