const MAPPED_IPV4 = /^::ffff:(?=\d{1,3}(?:\.\d{1,3}){3}$)/i;

/** A listener on `::` reports IPv4 clients as `::ffff:10.0.0.7`: this returns `10.0.0.7`, and other addresses as is. */
export function withoutMapping(address: string): string {
  return address.replace(MAPPED_IPV4, '');
}
