/** A PROXY header with a request behind it, in two pieces: the server gets the request, with the client that the header names. */
import { expect, it } from 'vitest';
import { untilTestEnds } from '../../../support/deferred.ts';
import { turns } from '../../../support/wire/split-writer.ts';
import { atHeads, get, OK, startStand } from '../../../support/wire/stand.ts';

it.each([
  ['1', Buffer.from('PROXY TCP4 203.0.113.7 10.0.0.1 50412 443\r\n')],
  ['2', Buffer.from('0d0a0d0a000d0a515549540a2111000ccb0071070a000001c4ec01bb', 'hex')],
])(
  'a PROXY header of version %s may come in two pieces, cut anywhere: the request behind it is passed on whole',
  async (_, header) => {
    const heads: string[] = [];
    const onHead = (head: string) => void heads.push(head);
    const stand = await startStand(
      {
        onConnection: (socket) => {
          atHeads(socket, onHead);
          atHeads(socket, () => socket.write(OK));
        },
        config: ({ listen }) => ({
          listen: { ...listen, trustedProxies: ['127.0.0.1'], clientAddress: 'proxy-protocol' },
          forwarded: 'replace',
        }),
      },
      untilTestEnds,
    );
    const cuts = [...Array(header.length + 5).keys()];
    for (const cut of cuts) {
      const bytes = Buffer.concat([header, Buffer.from(get(`/${cut}`))]);
      const peer = await stand.connect();
      peer.socket.setNoDelay(true).write(bytes.subarray(0, cut));
      await turns(3);
      peer.socket.write(bytes.subarray(cut));
      expect((await peer.response()).body).toBe('ok');
      peer.socket.destroy();
    }
    const added = 'X-Forwarded-For: 203.0.113.7\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: plant.example\r\n';
    expect(heads).toEqual(cuts.map((cut) => get(`/${cut}`, added)));
  },
);
