import { changed } from '../../support/fuzz/changed.ts';
import type { Random } from '../../support/fuzz/random.ts';

export interface WireText {
  readonly kind: 'json' | 'form' | 'query' | 'script';
  readonly text: string;
}

/** The messages that the CometD client and server and faye send, and others that the protocol allows. */
const SEEDS: readonly string[] = [
  '[{"ext":{"authentication":{"user":"ana","credentials":"x"}},"id":"3","version":"1.0","minimumVersion":"1.0","channel":"/meta/handshake","supportedConnectionTypes":["long-polling","callback-polling"],"advice":{"timeout":60000,"interval":0}}]',
  '[{"id":"3","channel":"/meta/handshake","successful":true,"clientId":"0cf5e357259c1dc92cb7a0949f681ebdb8b4aa77","version":"1.0","supportedConnectionTypes":["long-polling"],"advice":{"reconnect":"retry","timeout":30000,"interval":0,"maxInterval":10000}}]',
  '[{"id":"4","channel":"/meta/connect","connectionType":"long-polling","advice":{"timeout":0},"clientId":"0cf5e357"}]',
  '[{"id":2,"channel":"/meta/connect","successful":false,"error":"401:nobody:Unknown client","advice":{"reconnect":"handshake"}}]',
  '[{"id":"5","channel":"/meta/connect","successful":false,"error":"402::session_unknown","advice":{"reconnect":"handshake","interval":0}}]',
  '[{"id":"2","channel":"/meta/subscribe","subscription":["/d2/object/H.Demo","/d2/object/*"],"clientId":"0cf5e357"}]',
  '[{"id":"2","channel":"/meta/subscribe","subscription":"/d2/object/%C4%8C 1","successful":true}]',
  '[{"channel":"/d2/object/H.Demo","data":{"value":1.5e3}},{"id":"6","channel":"/d2/object/H.Demo","successful":true}]',
  '[{"id":"7","channel":"/service/d2/rpc","data":{"eventName":"E.Demo","interfaceName":"IMain","rpcName":"Test","params":[1,null,true]},"clientId":"0cf5e357"}]',
  '[{"id":"8","channel":"/service/d2/subscribeObject","data":{"objectName":"H.A"}},{"id":"9","channel":"/service/d2/rpcSBA","data":{"eventName":"\\u010c ä","rpcName":7}}]',
  '{"channel":"/service/d2/object","data":{"objectName":"Čerpadlo","value":null}}',
  '[{"id":"10","channel":"/meta/disconnect","clientId":"0cf5e357","ext":{"ack":true}}]',
  '[]',
];

/** Fragments of JSON, forms, scripts and hostile input. */
const SNIPPETS: readonly string[] = [
  ...'[ ] { } , : " \\ / * ; ( ) & = + % ? # \' ` 0 -1 1e999 null true false {} [] "" \\" \\u0000 \\ud800 \\x'.split(
    ' ',
  ),
  ...'%22 %5B %5D %7B %7D %26 %3D %2B %25 %FF %C4%8C %u0041 %0 /**/ /* */ // cb( cb) ); )'.split(' '),
  ...[' ', '\n', '\0', '\ufeff', '\u2028', '\ud83d', 'Č', '**', '[[[[[[[[[[[[[[[['],
  ...['message=', '&message=', 'jsonp=cb&', '/d2/object/', '/meta/'],
  '"channel":"/a"',
  '"channel":1',
  '"id":7',
  '"id":{}',
  '"data":null',
  '"data":[[[[]]]]',
  '"subscription":["/a",1]',
  '"successful":"true"',
  '"__proto__":{"channel":"/x","polluted":1}',
  '"constructor":{"prototype":{"polluted":1}}',
  '"advice":{"__proto__":{"polluted":1},"interval":-1}',
  '"error":"402::x"',
  '{"channel":"/b"},',
];

export const CALLBACK = 'cb';

/** One of the seeds, wrapped in one of the ways of the protocol, mutated up to four times before or after that. */
export function mutatedText(random: Random): WireText {
  let json = random.pick(SEEDS);
  for (let i = random.below(3); i > 0; i -= 1) json = mutated(json, random);
  const kind = random.pick(['json', 'json', 'form', 'query', 'script'] as const);
  let text = wrapped(kind, json, random);
  for (let i = random.below(3); i > 0; i -= 1) text = mutated(text, random);
  return { kind, text: asSent(text) };
}

/** As decoded from UTF-8: without lone surrogates. */
const asSent = (text: string): string => Buffer.from(text, 'utf8').toString('utf8');

function wrapped(kind: WireText['kind'], json: string, random: Random): string {
  const escaped = (part: string): string => encodeURIComponent(asSent(part));
  switch (kind) {
    case 'json':
      return json;
    case 'form':
      return random.chance(0.3)
        ? `message=${escaped(json)}&message=${escaped(random.pick(SEEDS))}`
        : `message=${escaped(json)}`;
    case 'query':
      return `jsonp=${CALLBACK}&message=${escaped(json)}`;
    case 'script':
      return `${random.pick(['', '/**/', '/* x */ '])}${CALLBACK}(${json})${random.pick(['', ';', ' ;\n'])}`;
  }
}

function mutated(text: string, random: Random): string {
  if (random.chance(0.8)) return changed(text, SNIPPETS, random);
  // Where an object begins, so that it remains JSON more often.
  const brace = text.indexOf('{"', random.below(text.length + 1)) + 1;
  return brace === 0 ? text : `${text.slice(0, brace)}${random.pick(SNIPPETS)},${text.slice(brace)}`;
}
