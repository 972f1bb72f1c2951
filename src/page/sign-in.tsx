/** The sign-in form. Its input stays in memory and is gone with the page. */
import { useId } from 'preact/hooks';
import type { Credential } from './api.ts';

interface SignInProps {
  readonly detail: string;
  /** A credential was sent and rejected. */
  readonly wasTried: boolean;
  readonly onCredential: (credential: Credential) => void;
}

export function SignIn({ detail, wasTried, onCredential }: SignInProps) {
  return (
    <section class="panel sign-in" aria-labelledby="sign-in-heading">
      <h2 id="sign-in-heading">Sign in to the monitoring port</h2>
      <p role={wasTried ? 'alert' : undefined} class={wasTried ? 'notice' : ''}>
        {wasTried ? `That was not accepted. ${detail}` : detail}
      </p>
      <form
        onSubmit={onSubmit((read) =>
          onCredential({ kind: 'password', user: read('username'), password: read('current-password') }),
        )}
      >
        <h3>With a user name</h3>
        <Field label="User" name="username" />
        <Field label="Password" name="current-password" isSecret />
        <button type="submit" class="primary">
          Sign in
        </button>
      </form>
      <form onSubmit={onSubmit((read) => onCredential({ kind: 'token', token: read('off').trim() }))}>
        <h3>With a token</h3>
        <Field label="Token" name="off" isSecret />
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

/** Value of `autocomplete`, for the browser's password manager. */
type FieldName = 'username' | 'current-password' | 'off';

function onSubmit(use: (read: (name: FieldName) => string) => void) {
  return (event: Event & { readonly currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    use((name) => String(fields.get(name)));
  };
}

function Field({ label, name, isSecret = false }: { label: string; name: FieldName; isSecret?: boolean }) {
  const id = useId();
  const attributes = { id, name, autocomplete: name, required: true } as const;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {isSecret ? <input type="password" {...attributes} /> : <input type="text" {...attributes} />}
    </div>
  );
}
