/** Returns the link in the row of an event type, if the row is in the document. */
export function rowLink(type: string): HTMLElement | undefined {
  const links = [...document.querySelectorAll<HTMLElement>('.row-link')];
  return links.find((link) => link.dataset['type'] === type);
}
