import type { ComponentChildren, JSX } from 'preact';
import { NODE_HEIGHT, type Point } from './graph-layout.js';

export interface GraphNodeProps {
  readonly at: Point;
  readonly width: number;
  readonly class: string;
  readonly children: ComponentChildren;
}

/** Node of a graph: a list item at its position. */
export function GraphNode({ at, width, class: name, children }: GraphNodeProps): JSX.Element {
  return (
    <li
      class={`node ${name}`}
      style={{ left: `${at.x}rem`, top: `${at.y}rem`, width: `${width}rem`, height: `${NODE_HEIGHT}rem` }}
    >
      {children}
    </li>
  );
}
