/** Many small pieces: chunks, names, heads that are held, lists in heads, and a key that takes long to derive. */
import { copyFileSync, renameSync } from 'node:fs';
import path from 'node:path';
import { type Fields, toHead } from '../../support/load/heads.ts';
import { next } from '../../support/load/sockets.ts';
import type { Attacker } from '../attacker/attacker.ts';
import { COMET_PATH, FAILING_PATH, HOLD_PATH, MANY_CHUNKS, PFX_FILE, RENEWED_PFX_FILES, RPC_PATH } from '../plant.ts';
import { type Flood, type Floods, KNOWN, onMany, writing } from './flood.ts';

const LIST_BYTES = 60_000;
/** The default of `limits.fields` is 1,000. */
const LINES = 900;
const CHUNKS_BYTES = 300_000;
/** A new connection waits until the thousands before it have been accepted. */
const MANY_PLUS_MS = 1_500;
/** Fifty TLS handshakes at once. */
const HANDSHAKES_PLUS_MS = 400;
/** The watch of the file looks every two seconds. */
const RENEW_EVERY_MS = 1_900;
const LONG_NAME = 'n'.repeat(480);
const FILL = { 'X-Fill': 'x'.repeat(55_000) };
const UPGRADE = {
  Upgrade: 'websocket',
  Connection: 'Upgrade',
  'Sec-WebSocket-Version': 13,
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

/** Uploads in chunks of one byte, each after the answer to the one before. */
function byteChunks(target: string, fields: Fields = { 'Transfer-Encoding': 'chunked' }): Flood['attack'] {
  const head = toHead(`POST ${target}`, { ...KNOWN, [MANY_CHUNKS]: 'yes', ...fields });
  const request = `${head}${'1\r\n \r\n'.repeat(CHUNKS_BYTES / 6)}0\r\n\r\n`;
  return inTurn([request], (attacker) => attacker.count(50, 20));
}

async function failingNames(attacker: Attacker): Promise<void> {
  let nth = 0;
  await attacker.repeatOnConnections(8, async (socket) => {
    nth += 1;
    const request = toHead(`POST ${FAILING_PATH}${LONG_NAME}${nth}`, { 'Content-Length': 0 });
    return (await attacker.ask(socket, request)) === 501;
  });
}

function inTurn(requests: readonly string[], connectionsOf = (_: Attacker) => 4): Flood['attack'] {
  const all = requests.map((request) => Buffer.from(request, 'latin1'));
  return async (attacker) => {
    let nth = 0;
    await attacker.repeatOnConnections(connectionsOf(attacker), async (socket) => {
      nth += 1;
      return (await attacker.ask(socket, all[nth % all.length] ?? '')) !== undefined;
    });
  };
}

/** Heads of 60 kB, each full of another kind of member. */
function lists(toRequest: (list: string) => string, ...members: readonly string[]): Flood['attack'] {
  return inTurn(members.map((member) => toRequest(member.repeat(LIST_BYTES / member.length))));
}

function inField(field: string, ...members: readonly string[]): Flood['attack'] {
  return lists((list) => toHead(`GET ${RPC_PATH}`, { ...KNOWN, [field]: list }), ...members);
}

/** The client behind the proxy is not on loopback, so the path is compared with the denied ones. */
const inPath = (prefix: string, ...members: readonly string[]) =>
  lists((list) => toHead(`GET ${prefix}${list}`, { ...KNOWN, 'X-Forwarded-For': '192.0.2.7' }), ...members);

async function renewKeys(attacker: Attacker): Promise<void> {
  const file = (name: string) => path.join(attacker.target.folder, name);
  for (let nth = 0; attacker.isOn; nth += 1) {
    copyFileSync(file(RENEWED_PFX_FILES[nth % RENEWED_PFX_FILES.length] ?? ''), file('next.pfx'));
    renameSync(file('next.pfx'), file(PFX_FILE));
    await attacker.pause(RENEW_EVERY_MS);
  }
}

const clientAddress = 'x-forwarded-for';

const ON_BOTH: Floods = {
  'byte-chunks': {
    what: 'Comet uploads of 300 kB in chunks of one byte; 50 connections in a loop',
    attack: byteChunks(COMET_PATH),
  },
  'byte-chunks-absolute': {
    what: 'the same for a call, with an absolute URL as target',
    attack: byteChunks(`http://a${RPC_PATH}`),
  },
  'byte-chunks-codings': {
    what: 'the same with Transfer-Encoding: a, chunked',
    attack: byteChunks(RPC_PATH, { 'Transfer-Encoding': 'a, chunked' }),
  },
  'failing-names': {
    what: 'calls of new names of 480 characters, answered 501 without a login; 8 connections in a loop',
    attack: failingNames,
  },
  'held-heads': {
    worstPlusMs: MANY_PLUS_MS,
    what: '4,500 requests with heads of 55 kB that the server holds',
    attack: onMany({ full: 4_500, short: 1_000, act: writing(toHead(`GET ${HOLD_PATH}`, FILL)) }),
  },
  'websocket-heads': {
    worstPlusMs: MANY_PLUS_MS,
    what: '4,500 WebSockets whose handshakes have heads of 55 kB',
    attack: onMany({
      full: 4_500,
      short: 500,
      act: async (attacker, socket) => {
        if (await attacker.write(socket, toHead(`GET ${COMET_PATH}`, { ...UPGRADE, ...FILL })))
          await next(socket, 'data');
      },
    }),
  },
  'list-x-forwarded-for': {
    what: 'from a trusted proxy, heads of 60 kB full of trusted addresses in X-Forwarded-For; 4 connections in a loop',
    clientAddress,
    attack: inField('X-Forwarded-For', '10.0.0.1,', 'fd00::1,', '::ffff:10.0.0.1,', 'fd00:0:0:0:0:0:10.0.0.1,'),
  },
  'list-forwarded': {
    what: 'the same in Forwarded, and pairs without an end',
    clientAddress: 'forwarded',
    attack: inField('Forwarded', 'for=10.0.0.1,', 'for="[fd00::1]:80";proto=https,', ';', 'a="b";', '\\"'),
  },
  'list-path': {
    what: 'paths of 60 kB full of segments and escapes, compared with denied paths; 4 connections in a loop',
    clientAddress,
    attack: inPath('/smartWeb/api/rest/v0/d2/', '/', '/a', '/a/..', '/%2e', '%2fa', '/;', '/a;b', '/%c4%8c'),
  },
  'list-query': {
    what: 'the same in the query of a Comet request',
    clientAddress,
    attack: inPath(`${COMET_PATH}?message=[]&`, '&', '%zz&', 'm%65ssage=1&', 'message=%5b%zz&'),
  },
  'list-cookie': {
    what: 'heads of 60 kB full of cookies; 4 connections in a loop',
    attack: inField('Cookie', ';', 'a=b;', 'JSESSIONID;', 'JSESSIONID=1;', 'a,'),
  },
  'list-connection': {
    what: 'the same of options in Connection',
    attack: inField('Connection', ',', 'a,', ' ,', 'keep-alive,'),
  },
  'list-transfer-encoding': {
    what: 'the same of codings in Transfer-Encoding',
    attack: inField('Transfer-Encoding', 'a,', 'gzip,', ' ,', 'chunked,'),
  },
  'list-lines': {
    what: 'heads of 900 lines of the same fields; 4 connections in a loop',
    clientAddress,
    attack: inTurn(
      ['Cookie: a=b', 'X-Forwarded-For: 10.0.0.1', 'Connection: a,b', 'X-API-Key: a'].map(
        (line) => `${toHead(`GET ${RPC_PATH}`, KNOWN).slice(0, -2)}${`${line}\r\n`.repeat(LINES)}\r\n`,
      ),
    ),
  },
};

function overTls(flood: Floods[string]): Floods[string] {
  return {
    ...flood,
    worstPlusMs: flood.worstPlusMs ?? HANDSHAKES_PLUS_MS,
    what: `${flood.what}; on TLS`,
    setting: 'tls',
    attack: (attacker) => flood.attack(attacker.overTls()),
  };
}

export const PIECES: Floods = {
  ...ON_BOTH,
  ...Object.fromEntries(Object.entries(ON_BOTH).map(([name, flood]) => [`${name}-tls`, overTls(flood)])),
  'renewed-pkcs12': {
    what: 'every two seconds a new PKCS #12 file, whose key takes 600,000 iterations to derive',
    setting: 'pkcs12',
    attack: renewKeys,
  },
};
