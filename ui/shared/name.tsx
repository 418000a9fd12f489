import type { JSX } from 'preact';

/** Name of something. It breaks after its separators rather than within a word. */
export function Name({ children: name, class: className }: { children: string; class?: string }): JSX.Element {
  return (
    <bdi class={className}>
      {name.split(/(?<=[._:/-])(?=\w)/).flatMap((part, at) => (at === 0 ? part : [<wbr key={at} />, part]))}
    </bdi>
  );
}
