/**
 * Sign-in and sign-out: exchanges the operator's token for a session. An operator signed in by Cloudflare Access has a
 * session already.
 */
import type { Hono } from 'hono';
import type { FC } from 'hono/jsx';
import { failsToSignInTooOften, LIMIT_PERIOD_SECONDS } from '../http/middleware/address-limits.ts';
import { log } from '../platform/log.ts';
import { Code, Notice } from '../ui/parts.tsx';
import { CONSOLE_PATH, type ConsoleContext, type ConsoleEnv, ownPath } from './context.ts';
import { readForm } from './form-body.ts';
import { endSession, isOperatorToken, readSession, startSession } from './session.ts';
import { plainPage } from './shell.tsx';
import { submittedIn, text } from './submitted.ts';

export const SIGN_IN_PATH = `${CONSOLE_PATH}/sign-in`;

/** The path that ends a session of Cloudflare Access, on every host that it protects. */
const ACCESS_SIGN_OUT_PATH = '/cdn-cgi/access/logout';
/** The delay before the answer to a wrong token. */
const WRONG_TOKEN_DELAY_MS = 400;
/** The most bytes of the form, enough for a token and the other fields. */
const SIGN_IN_BYTES_MAX = 4 * 1_024;

export function mountSignIn(app: Hono<ConsoleEnv>): void {
  app.get('/sign-in', async (c) => {
    const session = await readSession(c, Date.now());
    if (session && !('refused' in session)) return c.redirect(CONSOLE_PATH, 303);
    return signInPage(c, 200, null);
  });

  app.post('/sign-in', async (c) => {
    const body = await readForm(c.req.raw, SIGN_IN_BYTES_MAX);
    if (body.kind === 'too large') return signInPage(c, 413, `A sign-in takes ${body.bound}.`);
    if (!c.env.SESSION_SECRET) return signInPage(c, 503, 'SESSION_SECRET is not configured, so there are no sessions.');
    const { fields } = await submittedIn(body.data);
    if (!(await isOperatorToken(c.env, text(fields, 'token')))) return refusedSignIn(c);
    await startSession(c, Date.now());
    return c.redirect(ownPath(c.req.query('next')), 303);
  });
}

/** Delays the answer, to slow down guessing. The real protection is the length of the token, at least 32 characters. */
async function refusedSignIn(c: ConsoleContext) {
  if (await failsToSignInTooOften(c)) {
    c.header('Retry-After', String(LIMIT_PERIOD_SECONDS));
    return signInPage(c, 429, 'Too many wrong tokens came from this address. Try again in a minute.');
  }
  log('warn', 'console_sign_in_refused', { correlationId: c.get('correlationId') });
  await scheduler.wait(WRONG_TOKEN_DELAY_MS);
  return signInPage(c, 401, 'That is not the operator token.');
}

/** Requires a session, because signing out ends only the caller's own session. */
export function mountSignOut(app: Hono<ConsoleEnv>): void {
  app.post('/sign-out', async (c) => {
    if (c.get('session').by === 'access') return c.redirect(ACCESS_SIGN_OUT_PATH, 303);
    await endSession(c, c.get('session'), Date.now());
    return c.redirect(SIGN_IN_PATH, 303);
  });
}

function signInPage(c: ConsoleContext, status: 200 | 401 | 413 | 429 | 503, error: string | null) {
  const next = c.req.query('next');
  const action = next === undefined ? SIGN_IN_PATH : `${SIGN_IN_PATH}?${new URLSearchParams({ next })}`;
  return plainPage(c, 'Sign in', status, <SignIn action={action} error={error} />);
}

const SignIn: FC<{ action: string; error: string | null }> = ({ action, error }) => (
  <>
    <h1>Operator console</h1>
    {error && <Notice tone="bad">{error}</Notice>}
    <form method="post" action={action} class="form">
      {/* Password managers store the token under this user name. */}
      <input
        type="text"
        name="username"
        value="operator"
        autocomplete="username"
        hidden
        readonly
        tabindex={-1}
        aria-label="User name"
      />
      <div class={error ? 'field wrong' : 'field'}>
        <label for="token">Operator token</label>
        <input
          id="token"
          name="token"
          type="password"
          autocomplete="current-password"
          required
          aria-describedby="token-hint"
          autofocus={error ? true : undefined}
          aria-invalid={error ? 'true' : undefined}
        />
        <p class="quiet hint" id="token-hint">
          The value of <Code>OPERATOR_TOKEN</Code>; locally it is in <Code>.dev.vars</Code>. The session lasts eight
          hours.
        </p>
      </div>
      <button type="submit" class="primary">
        Sign in
      </button>
    </form>
  </>
);
