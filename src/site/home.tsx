/**
 * The start page: the product, a call with its real cost, the way to a first one, the guides, and the missing parts of
 * a new deployment. And the page for a person who opens a route of the API in a browser.
 */
import type { FC, PropsWithChildren } from 'hono/jsx';
import { fixedUsd, NANO_DIGITS } from '../domain/money.ts';
import { Badge, Card } from '../ui/parts.tsx';
import { guidePath, operationPath } from './docs/paths.ts';
import { publicPage } from './shell.tsx';

/** A step in the form of `operator/setup.ts`. */
interface Step {
  name: string;
  done: boolean;
}

/** The third step's plan. */
const PLAN = `{
  "name": "Pro",
  "limitType": "BLOCK",
  "limits": {
    "standardCalls": 5000,
    "premiumCalls": 500
  },
  "payg": {
    "enabled": true,
    "markupPercent": 20
  }
}`;

/** The two requests of a customer's first call on that plan, and the important fields of their answers. */
const BEGIN = {
  operationId: 'beginCall',
  path: '/call_begin',
  header: 'Idempotency-Key: chat-1',
  body: `{
  "customerId": "alice",
  "feature": "chat",
  "requested": { "premium": true }
}`,
  answer: `{
  "callId": "chat-1",
  "allowed": { "premium": true },
  "meters": { "premiumCalls": {
    "limit": 500, "used": 1, "remaining": 499
  } }
}`,
};
const END = {
  operationId: 'endCall',
  path: '/call_end',
  body: `{
  "callId": "chat-1",
  "providerUsed": "openai",
  "modelUsed": "gpt-6-sol",
  "inputTokens": 1234,
  "cachedInputTokens": 217,
  "responseTokens": 351
}`,
  answer: `{
  "costUsdNano": "5587400",
  "costBreakdown": { "lines": [
    { "component": "input", "quantity": 1017, "usdPerMillion": 2 },
    { "component": "cachedInput", "quantity": 217, "usdPerMillion": 0.2 },
    { "component": "output", "quantity": 351, "usdPerMillion": 10 }
  ] }
}`,
};
const COST = `$${fixedUsd(BigInt(JSON.parse(END.answer).costUsdNano), NANO_DIGITS)}`;

/** The purpose of each guide. */
const GUIDES = [
  ['concepts', 'Concepts', 'the terms, in ten minutes'],
  ['plans', 'Plans', 'what a customer may use, and what happens at a limit'],
  ['credit', 'What credit pays for', 'and what is refused, so that no balance is overdrawn'],
  ['client', 'Client library', 'TypeScript, with the SDKs of OpenAI, Anthropic and Google'],
  ['gateway', 'Gateway', 'metering by another base URL, in any language'],
  ['python', 'Python', 'requests, and OpenAI’s SDK at the gateway'],
  ['widget', 'Usage widget', 'a customer’s usage inside your own pages'],
  ['readings', 'Readings', 'usage, forecast and anomalies of a customer'],
  ['events', 'Events', 'limits, balances and prices that change, by webhook or Slack'],
  ['errors', 'Errors', 'each code, its cause and what to do'],
  ['operate', 'Operate', 'the console, the command line, models and prices, Stripe'],
  ['deploy', 'Deploy', 'to your own Cloudflare account, and what that costs'],
  ['security', 'Security', 'keys, bounds, and what is stored'],
  ['performance', 'Performance', 'what was measured, and how to measure it yourself'],
] as const;

const PLACES = [
  ['/console', 'Console', 'customers, plans, prices and usage, for the operator'],
  ['/docs', 'API reference', 'every operation, with a request to try'],
  ['/models', 'Models', 'which are current, deprecated or retired, what replaces them and what they cost'],
  ['/health', 'Health', 'whether the service serves, for monitors'],
] as const;

/** The meaning of each step, and its instructions. */
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
    },
    <>
      <header class="page-head">
        <div>
          <h1>Metering, entitlements and exact cost for AI calls</h1>
          <p class="sub">
            For applications that sell AI features. Before a model call, Callmeter says whether the customer may make
            it. After the call, it says what the call cost, exact to a billionth of a dollar, and what is left.
          </p>
        </div>
      </header>
      <div class="halves exchanges">
        <Exchange title="Before the call: may Alice make it?" {...BEGIN} />
        <Exchange title={`After the call: it cost ${COST}`} {...END}>
          <p class="quiet">
            <code>usdPerMillion</code> is in USD per million tokens. The lines sum to the cost.
          </p>
        </Exchange>
      </div>
      <h2>Three steps</h2>
      <ol class="first-steps">
        <li class="card">
          <h3>Start</h3>
          <p>
            In a clone of the repository, with Node 20.20 or newer. You get a demo organization, its key and a vendor
            for trying out: no key of OpenAI, Anthropic or Google is needed. <code>npm run demo</code> then shows three
            vendors, an exhausted allowance and a downgrade.
          </p>
          <pre class="json">npm ci && npm start</pre>
          <p>
            <GuideLink name="README">First requests</GuideLink> · <GuideLink name="deploy">Deploy</GuideLink>
          </p>
        </li>
        <li class="card">
          <h3>Meter</h3>
          <p>
            Send the two requests above around a model call. Or change base URL and key of an SDK of OpenAI, Anthropic
            or Google, and the gateway meters every call. The key is an API key of your organization: after{' '}
            <code>npm start</code>, <code>DEMO_API_KEY</code> in <code>.dev.vars</code>.
          </p>
          <pre class="json">{`new OpenAI({\n  baseURL: '${origin}/v1',\n  apiKey: process.env.CALLMETER_KEY,\n})`}</pre>
          <p>
            <GuideLink name="client">Client library</GuideLink> · <GuideLink name="gateway">Gateway</GuideLink> ·{' '}
            <GuideLink name="python">Python</GuideLink>
          </p>
        </li>
        <li class="card">
          <h3>Sell</h3>
          <p>
            A plan says what is included and what happens at a limit. Credit pays for more, at your markup, and never
            for a request whose cost has no bound. This plan includes 500 premium calls a month; after them, a
            customer’s credit pays the cost plus 20 %.
          </p>
          <pre class="json">{PLAN}</pre>
          <p>
            <GuideLink name="plans">Plans</GuideLink> · <GuideLink name="credit">What credit pays for</GuideLink>
          </p>
        </li>
      </ol>
      <div class="halves">
        <Card title="Guides">
          <ul class="list">
            {GUIDES.map(([name, title, text]) => (
              <li>
                <GuideLink name={name}>{title}</GuideLink>: <span class="quiet">{text}</span>
              </li>
            ))}
          </ul>
        </Card>
        <div class="stack">
          <Card title="On this server">
            <ul class="list">
              {PLACES.map(([path, title, text]) => (
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
        </div>
      </div>
    </>,
  );
}

const GuideLink: FC<PropsWithChildren<{ name: string }>> = ({ name, children }) => (
  <a href={guidePath(name)}>{children}</a>
);

interface ExchangeProps {
  title: string;
  operationId: string;
  path: string;
  header?: string;
  body: string;
  answer: string;
}

/** A request, which links to its operation with all its headers, and the important fields of its answer. */
const Exchange: FC<PropsWithChildren<ExchangeProps>> = ({
  title,
  operationId,
  path,
  header,
  body,
  answer,
  children,
}) => (
  <Card title={title}>
    <p class="address">
      <span class="method POST">POST</span>{' '}
      <a href={operationPath(operationId)}>
        <code>{path}</code>
      </a>
    </p>
    {header && (
      <p>
        <code>{header}</code>
      </p>
    )}
    <pre class="json">{body}</pre>
    <p class="quiet">From its answer:</p>
    <pre class="json">{answer}</pre>
    {children}
  </Card>
);
const SetupStep: FC<Step> = ({ name, done }) => {
  const { text, todo } = STEPS[name] ?? { text: name, todo: '' };
  return (
    <li>
      <Badge tone={done ? 'good' : 'warn'}>{done ? 'done' : 'to do'}</Badge> {text}
      {!done && <p class="quiet">To do: {todo}.</p>}
    </li>
  );
};

/** The page in place of an error, which programs get as JSON. */
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
