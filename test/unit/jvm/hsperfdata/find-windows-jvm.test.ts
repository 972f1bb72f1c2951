import { expect, it } from 'vitest';
import { parseNetstat } from '../../../../src/jvm/hsperfdata/find-windows-jvm.ts';

/** As Windows prints it in Slovak; 11 is a client of port 8080, 12 serves a port that ends alike. */
const NETSTAT = `
Aktívne pripojenia

  Proto  Lokálna adresa         Cudzia adresa          Stav            PID
  TCP    0.0.0.0:8080           0.0.0.0:0              NAČÚVA          812
  TCP    10.0.0.5:8080          10.0.0.9:50123         VYTVORENÉ       812
  TCP    127.0.0.1:50124        127.0.0.1:8080         VYTVORENÉ       11
  TCP    0.0.0.0:18080          0.0.0.0:0              NAČÚVA          12
  TCP    127.0.0.1:9990         0.0.0.0:0              NAČÚVA          813
  TCP    0.0.0.0:9990           0.0.0.0:0              NAČÚVA          814
  TCP    [::]:8080              [::]:0                 NAČÚVA          812
  TCP    [fe80::1%12]:8443      [::]:0                 NAČÚVA          815
  UDP    0.0.0.0:8080           *:*                                    900
`.replaceAll('\n', '\r\n');

it.each([
  ['at all addresses, IPv4 and IPv6', ['127.0.0.1', '::1'], 8080, [812]],
  ['at this address, rather than at all', ['127.0.0.1'], 9990, [813]],
  ['at an IPv6 address with its interface', ['fe80::1'], 8443, [815]],
  ['at another address of the machine', ['10.0.0.5'], 9990, [814]],
  ['nowhere', ['127.0.0.1'], 8443, []],
])('the process that listens %s', (_, addresses, port, pids) => {
  expect(parseNetstat(NETSTAT, addresses, port)).toEqual(pids);
});
