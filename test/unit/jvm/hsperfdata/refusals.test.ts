import { describe, expect, it } from 'vitest';
import { deniedToUser } from '../../../../src/jvm/hsperfdata/refusals.ts';

const OWN = { uid: 998, gid: 998, effectiveCapabilities: 0n };

describe('a JVM of another user', () => {
  it('is reported with the user to run as', () => {
    const { message } = deniedToUser('The JVM with pid 7', 110, OWN);
    expect(message).toContain('runs as user id 110, this sidecar as 998');
    expect(message).not.toContain('PrivateUsers');
  });

  it('with the id 65534 may be another user in a user namespace', () => {
    const { message } = deniedToUser('The JVM with pid 7', 65_534, OWN);
    expect(message).toContain('If this sidecar’s unit has "PrivateUsers=yes", 65534 stands for any other user');
    expect(message).toContain('"User=tomcat"');
  });
});
