/**
 * The layout of the public pages: metadata for search engines and previews, navigation, content.
 */
import { html } from 'hono/html';
import type { Child, FC, PropsWithChildren } from 'hono/jsx';
import { Document } from '../ui/document.tsx';
import { ICON_PATH } from '../ui/stylesheet.ts';
import { PAGES_STYLESHEET_PATH } from './stylesheet.ts';

export interface PublicPageProps {
  title: string;
  description: string;
  /** The canonical path; absent on pages such as 404. */
  canonical?: string;
  section: 'home' | 'models' | 'docs';
  narrow?: boolean;
  /** Content beside the main content, and before it on a narrow screen. */
  beside?: Child;
}

const SECTIONS = [
  { name: 'models', path: '/models', text: 'Models' },
  { name: 'docs', path: '/docs', text: 'API reference' },
] as const;

/** Renders a page as HTML. */
export async function publicPage(
  { title, description, canonical, section, narrow, beside }: PublicPageProps,
  content: Child,
): Promise<string> {
  const main = (
    <main class={narrow ? 'public narrow' : 'public'} id="main">
      {content}
    </main>
  );
  const page = html`<!doctype html>${(
    <Document title={`${title} · Callmeter`}>
      <Head title={title} description={description} canonical={canonical} />
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="top">
        <div>
          <a class="brand" href="/">
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
      {beside ? (
        <div class="with-side">
          {beside}
          {main}
        </div>
      ) : (
        main
      )}
    </Document>
  )}`;
  return String(await page);
}

/** Hono moves these elements to the head of the document. */
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

/** Paragraphs with `code`, in the form of the contract's descriptions. */
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

/** A search form that works without a script; its results have an address. */
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
