import { type Clock, NS_PER_MS, NS_PER_S } from '../../base/clock.ts';
import { JvmSourceError } from '../jvm-source.ts';
import { type Credentials, isSame } from './server-credentials.ts';

/** 60 s, 120, 240, ...: three tries in the five minutes in which Tomcat's LockOutRealm allows five. */
const FIRST_WAIT_S = 60;
const LONGEST_WAIT_S = 15 * 60;

interface Refusal {
  readonly credentials: Credentials | undefined;
  readonly waitS: number;
  readonly notBeforeNs: number;
  readonly error: JvmSourceError;
}

/**
 * Prevents sending a wrong password at every poll: servers lock the user out, and then refuse even the right one.
 * Changed credentials are tried at once.
 */
export class LoginBackOff {
  readonly #clock: Clock;
  #last: Refusal | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Throws the last refusal again, with the same message, until its wait is over. */
  check(credentials: Credentials | undefined): void {
    const last = this.#last;
    if (last === undefined || !isSame(last.credentials, credentials)) return;
    if (this.#clock.nowNs() < last.notBeforeNs) throw last.error;
  }

  /** Records a 401, returns the error. `reason`: e.g. `http://127.0.0.1:8080/manager refused the password (401).` */
  refused(credentials: Credentials | undefined, reason: string): JvmSourceError {
    const before = this.#last;
    const isAgain = before !== undefined && isSame(before.credentials, credentials);
    const waitS = isAgain ? Math.min(before.waitS * 2, LONGEST_WAIT_S) : FIRST_WAIT_S;
    // A point in time, not a remaining time: the message stays the same during the wait, and is logged once.
    const until = new Date(this.#clock.epochMs() + (waitS * NS_PER_S) / NS_PER_MS).toISOString();
    const error = new JvmSourceError(
      'D2S_ERR_JVM_ACCESS',
      `${reason} To avoid a lockout, the same credentials are not tried again before ${until}; a changed jvm.http.passwordFile is tried at once.`,
    );
    this.#last = { credentials, waitS, notBeforeNs: this.#clock.nowNs() + waitS * NS_PER_S, error };
    return error;
  }

  accepted(): void {
    this.#last = undefined;
  }
}
