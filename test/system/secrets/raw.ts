/** Sends text to a port or a local socket, and returns the answer: latin1, `\n` as CR LF. */
import { exchange, portOf } from '../../support/net.ts';

const toBytes = (text: string) => text.replaceAll(/\r?\n/g, '\r\n');

export const say = (address: string, text: string) => exchange(portOf(address), toBytes(text));

/** The same, then ends the sending side. */
export const breakOff = (address: string, text: string) => exchange(portOf(address), toBytes(text), undefined, true);

export const sayLocally = (path: string, text: string) => exchange(path, toBytes(text));
