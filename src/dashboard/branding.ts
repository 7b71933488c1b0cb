/** What the host calls the page: it stands in the HTML as an attribute, since a script in it may be forbidden. */
export interface Branding {
  readonly title: string;
  readonly links: readonly { readonly text: string; readonly url: string }[];
  readonly logo: string | null;
}

export function readBranding(root: HTMLElement): Branding {
  return JSON.parse(root.dataset.branding ?? '{"title":"Task monitor","links":[],"logo":null}') as Branding;
}
