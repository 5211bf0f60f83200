/**
 * All marks of a chart are one stop of the Tab key, and the arrow keys move between them. The first tap on a mark shows
 * its values; the second one follows its link.
 */
type Mark = Element & HTMLOrSVGElement;

export function reachMarks(part: ParentNode): void {
  for (const chart of part.querySelectorAll<HTMLElement>('.marks')) reachMarksOf(chart);
}

function reachMarksOf(chart: HTMLElement): void {
  const marks = [...chart.querySelectorAll<Mark>('[tabindex]')];
  const choose = (chosen: Mark | undefined) => {
    for (const mark of marks) mark.tabIndex = mark === chosen ? 0 : -1;
  };
  const markAt = ({ target }: Event) => marks.find((mark) => mark.contains(target as Node));
  let isOpening = false;
  choose(marks.at(-1));
  chart.addEventListener('focusin', (event) => choose(markAt(event)));
  chart.addEventListener('keydown', (event) => {
    const mark = markAt(event);
    const at = mark ? marks.indexOf(mark) : -1;
    const steps: Record<string, number> = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: marks.length - 1 };
    const next = marks[steps[event.key] ?? -1];
    if (event.ctrlKey || event.metaKey || event.altKey || !next) return;
    event.preventDefault();
    next.focus();
  });
  chart.addEventListener('pointerdown', (event) => {
    isOpening = event.pointerType === 'touch' && document.activeElement !== markAt(event);
  });
  chart.addEventListener('click', (event) => {
    if (!isOpening) return;
    isOpening = false;
    event.preventDefault();
    markAt(event)?.focus();
  });
}
