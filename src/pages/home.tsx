/**
 * The start page: what this is, where to go, and what a new deployment still lacks. And the page that a person gets who
 * opens a route of the API in a browser.
 */
import type { FC } from 'hono/jsx';
import { Badge, Card } from '../ui/parts.tsx';
import { publicPage } from './shell.tsx';

/** As `operator/setup.ts` finds it. */
interface Step {
  name: string;
  done: boolean;
}

const LINKS = [
  ['/console', 'Console', 'customers, plans, prices and usage, for the operator'],
  ['/docs', 'API reference', 'every operation, with a line to try it'],
  ['/models', 'Models', 'which models are current, deprecated or retired, and what to use instead'],
  ['/health', 'Health', 'whether the service serves, for monitors'],
] as const;

/** What each step is, and how it is done. */
const STEPS: Readonly<Record<string, { text: string; todo: string }>> = {
  database: {
    text: 'The database answers and has its tables',
    todo: 'bind a D1 database and apply the migrations: wrangler d1 migrations apply callmeter --remote',
  },
  operator: {
    text: 'The operator API and the console are on',
    todo: 'set the secret OPERATOR_TOKEN, at least 32 characters',
  },
  secrets: {
    text: "Vendors' keys and browser sessions can be kept",
    todo: 'set the secrets VENDOR_KEY_SECRET and SESSION_SECRET',
  },
  organization: {
    text: 'An organization has an API key',
    todo: 'create both in the console, or with npm run operator -- organizations create and keys create',
  },
  call: {
    text: 'A first call was received',
    todo: 'send call_begin with the key; the API reference has a line to paste',
  },
};

export function homePage(steps: readonly Step[], origin: string): Promise<string> {
  return publicPage(
    {
      title: 'Metering for AI calls',
      description: 'Metering, entitlements and exact cost for AI calls, at the edge.',
      canonical: `${origin}/`,
      section: 'home',
      narrow: true,
    },
    <>
      <header class="page-head">
        <div>
          <h1>Metering, entitlements and exact cost for AI calls</h1>
          <p class="sub">
            Applications ask before a model call whether the customer may make it, and report after it what it used.
            Callmeter answers with the exact cost and what is left.
          </p>
        </div>
      </header>
      <Card title="Where to go">
        <ul class="list">
          {LINKS.map(([path, title, text]) => (
            <li>
              <a href={path}>{title}</a>: <span class="quiet">{text}</span>
            </li>
          ))}
        </ul>
      </Card>
      <Card title="Set-up">
        {steps.every(({ done }) => done) ? (
          <p>
            <Badge tone="good">complete</Badge> This deployment has received calls.
          </p>
        ) : (
          <ul class="list">
            {steps.map((step) => (
              <SetupStep {...step} />
            ))}
          </ul>
        )}
      </Card>
    </>,
  );
}

const SetupStep: FC<Step> = ({ name, done }) => {
  const { text, todo } = STEPS[name] ?? { text: name, todo: '' };
  return (
    <li>
      <Badge tone={done ? 'good' : 'warn'}>{done ? 'done' : 'to do'}</Badge> {text}
      {!done && <p class="quiet">To do: {todo}.</p>}
    </li>
  );
};

/** What a browser shows where a program gets an error as JSON. */
export function errorPage({ code, message }: { code: string | null; message: string }): Promise<string> {
  return publicPage(
    { title: message, description: 'An error of the Callmeter API.', section: 'home', narrow: true },
    <>
      <header class="page-head">
        <div>
          <h1>{sentence(message)}</h1>
          {code !== null && (
            <p class="sub">
              Error <code>{code}</code>
            </p>
          )}
        </div>
      </header>
      <Card title="You opened a route for programs">
        <p>
          The <a href="/docs">API reference</a> says what each route takes and answers. For people there are the{' '}
          <a href="/console">console</a> and the <a href="/models">list of models</a>; <a href="/">the start page</a>{' '}
          has them all.
        </p>
      </Card>
    </>,
  );
}

function sentence(message: string): string {
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}`;
}
