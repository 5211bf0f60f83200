/**
 * Tabs of the samples, as the ARIA practices describe them: arrows move between them. The last chosen language is
 * selected on the next page too.
 */

const CHOSEN_LANGUAGE = 'callmeter-docs-language';

export function sampleTabs(): void {
  for (const samples of document.querySelectorAll<HTMLElement>('.samples')) makeTabs(samples);
}

function makeTabs(samples: HTMLElement): void {
  const panels = [...samples.querySelectorAll<HTMLElement>('.sample')];
  const list = document.createElement('div');
  list.setAttribute('role', 'tablist');
  list.setAttribute('aria-label', 'Language');
  const tabs = panels.map((panel, index) => {
    const language = panel.dataset.language ?? '';
    const tab = document.createElement('button');
    tab.type = 'button';
    tab.id = `tab-${index}`;
    tab.textContent = language;
    tab.setAttribute('role', 'tab');
    tab.setAttribute('aria-controls', `panel-${index}`);
    panel.id = `panel-${index}`;
    panel.setAttribute('role', 'tabpanel');
    panel.setAttribute('aria-labelledby', tab.id);
    panel.querySelector('h3')?.remove();
    tab.addEventListener('click', () => choose(index));
    list.append(tab);
    return tab;
  });
  const choose = (chosen: number) => {
    for (const [index, tab] of tabs.entries()) {
      tab.setAttribute('aria-selected', String(index === chosen));
      tab.tabIndex = index === chosen ? 0 : -1;
      const panel = panels[index];
      if (panel) panel.hidden = index !== chosen;
    }
    remember(tabs[chosen]?.textContent ?? '');
  };
  list.addEventListener('keydown', (event) => {
    const at = tabs.indexOf(document.activeElement as HTMLButtonElement);
    const last = tabs.length - 1;
    const next = { ArrowRight: at === last ? 0 : at + 1, ArrowLeft: at === 0 ? last : at - 1, Home: 0, End: last };
    const to = next[event.key as keyof typeof next];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    choose(to);
    tabs[to]?.focus();
  });
  samples.prepend(list);
  const remembered = tabs.findIndex((tab) => tab.textContent === recall());
  choose(Math.max(remembered, 0));
}

/** A browser may refuse storage; the choice then ends with the page. */
function remember(language: string): void {
  try {
    localStorage.setItem(CHOSEN_LANGUAGE, language);
  } catch {}
}

function recall(): string | null {
  try {
    return localStorage.getItem(CHOSEN_LANGUAGE);
  } catch {
    return null;
  }
}
