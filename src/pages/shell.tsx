/**
 * The frame of the public pages: what search engines and previews read of them, the way around, and the page itself.
 */
import { html } from 'hono/html';
import type { Child, FC, PropsWithChildren } from 'hono/jsx';
import { Document } from '../ui/document.tsx';
import { ICON_PATH } from '../ui/stylesheet.ts';
import { PAGES_STYLESHEET_PATH } from './stylesheet.ts';

export interface PublicPageProps {
  title: string;
  description: string;
  /** Where this page is at home; absent where it is nowhere, as a page that was not found. */
  canonical?: string;
  section: 'models' | 'docs';
  narrow?: boolean;
}

const SECTIONS = [
  { name: 'models', path: '/models', text: 'Models' },
  { name: 'docs', path: '/docs', text: 'API reference' },
] as const;

/** A whole page as HTML. */
export async function publicPage(
  { title, description, canonical, section, narrow }: PublicPageProps,
  content: Child,
): Promise<string> {
  const page = html`<!doctype html>${(
    <Document title={`${title} · Callmeter`}>
      <Head title={title} description={description} canonical={canonical} />
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="top">
        <div>
          <a class="brand" href="/docs">
            <img src={ICON_PATH} alt="" width="26" height="26" />
            Callmeter
          </a>
          <nav aria-label="Callmeter">
            {SECTIONS.map(({ name, path, text }) => (
              <a href={path} aria-current={name === section ? 'true' : undefined}>
                {text}
              </a>
            ))}
          </nav>
        </div>
      </header>
      <main class={narrow ? 'public narrow' : 'public'} id="main">
        {content}
      </main>
    </Document>
  )}`;
  return String(await page);
}

/** These are moved to the head of the document when it is rendered. */
const Head: FC<{ title: string; description: string; canonical: string | undefined }> = ({
  title,
  description,
  canonical,
}) => (
  <>
    <link rel="stylesheet" href={PAGES_STYLESHEET_PATH} precedence="pages" />
    <meta name="description" content={description} />
    <meta property="og:site_name" content="Callmeter" />
    <meta property="og:type" content="website" />
    <meta property="og:title" content={title} />
    <meta property="og:description" content={description} />
    {canonical ? (
      <>
        <meta property="og:url" content={canonical} />
        <link rel="canonical" href={canonical} />
      </>
    ) : (
      <meta name="robots" content="noindex" />
    )}
  </>
);

/** Paragraphs with `code` in them, as the contract's descriptions have it. */
export const Prose: FC<{ text: string }> = ({ text }) => (
  <div class="prose">
    {text.split('\n\n').map((paragraph) => (
      <p>
        <Inline text={paragraph} />
      </p>
    ))}
  </div>
);

export const Inline: FC<{ text: string }> = ({ text }) => (
  <>{text.split('`').map((part, index) => (index % 2 === 1 ? <code>{part}</code> : part))}</>
);

/** A form that asks this page again: it works without a script, and its answer has an address. */
export const SearchForm: FC<
  PropsWithChildren<{ action: string; label: string; value: string; placeholder: string }>
> = ({ action, label, value, placeholder }) => (
  <search>
    <form class="find" method="get" action={action}>
      <div class="field">
        <label for="q">{label}</label>
        <input
          id="q"
          name="q"
          type="search"
          value={value}
          placeholder={placeholder}
          autocomplete="off"
          spellcheck={false}
          maxlength={300}
        />
      </div>
      <button type="submit" class="primary">
        Search
      </button>
    </form>
  </search>
);
