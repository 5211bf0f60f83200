/**
 * Copies a text that an element shows. Without the permission to copy, the element is selected, and the reader copies it
 * with the keyboard. Says whether the text was copied.
 */
export async function copyText(text: string, shownIn: Element): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    getSelection()?.selectAllChildren(shownIn);
    return false;
  }
}
