/** The sign-in form. Its input stays in memory and is gone with the page. */
import { useId, useState } from 'preact/hooks';
import type { Credential } from './api.ts';

export interface SignInProps {
  readonly detail: string;
  /** A credential was sent and rejected. */
  readonly wasTried: boolean;
  readonly onCredential: (credential: Credential) => void;
}

export function SignIn({ detail, wasTried, onCredential }: SignInProps) {
  const [user, setUser] = useState('');
  const [password, setPassword] = useState('');
  const [token, setToken] = useState('');
  return (
    <section class="panel sign-in" aria-labelledby="sign-in-heading">
      <h2 id="sign-in-heading">Sign in to the monitoring port</h2>
      <p role={wasTried ? 'alert' : undefined} class={wasTried ? 'notice' : ''}>
        {wasTried ? `That was not accepted. ${detail}` : detail}
      </p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onCredential({ kind: 'password', user, password });
        }}
      >
        <h3>With a user name</h3>
        <Field label="User" name="username" value={user} onValue={setUser} />
        <Field label="Password" name="current-password" isSecret value={password} onValue={setPassword} />
        <button type="submit" class="primary">
          Sign in
        </button>
      </form>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onCredential({ kind: 'token', token: token.trim() });
        }}
      >
        <h3>With a token</h3>
        <Field label="Token" name="off" isSecret value={token} onValue={setToken} />
        <button type="submit" class="primary">
          Use this token
        </button>
      </form>
      <p class="note">
        What you enter stays in this window's memory; it is not stored.{' '}
        <button type="button" class="link" onClick={() => onCredential({ kind: 'browser' })}>
          Use this browser's certificate
        </button>
      </p>
    </section>
  );
}

interface FieldProps {
  readonly label: string;
  /** Value of `autocomplete`, for the browser's password manager. */
  readonly name: 'username' | 'current-password' | 'off';
  readonly isSecret?: boolean;
  readonly value: string;
  readonly onValue: (value: string) => void;
}

function Field({ label, name, isSecret, value, onValue }: FieldProps) {
  const id = useId();
  const onInput = (event: { readonly currentTarget: HTMLInputElement }) => onValue(event.currentTarget.value);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {isSecret === true ? (
        <input id={id} type="password" autocomplete={name} required value={value} onInput={onInput} />
      ) : (
        <input id={id} type="text" autocomplete={name} required value={value} onInput={onInput} />
      )}
    </div>
  );
}
