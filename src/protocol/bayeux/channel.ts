/** Channels: paths such as `/d2/object/H.Demo` (The Bayeux Protocol 1.0, "Channels"). */

export const META_HANDSHAKE = '/meta/handshake';
export const META_SUBSCRIBE = '/meta/subscribe';
export const META_UNSUBSCRIBE = '/meta/unsubscribe';

/** Channels of the protocol itself: messages there are not distributed to subscribers. */
export function isMeta(channel: string): boolean {
  return channel.startsWith('/meta/');
}

/** Channels between one client and the server, e.g. for calls. */
export function isService(channel: string): boolean {
  return channel.startsWith('/service/');
}
