import { render } from '@testing-library/preact';
import type { JSX } from 'preact';
import { expect, test } from 'vitest';
import { ErrorBoundary } from './first-render.js';

function Broken(): JSX.Element {
  throw new Error('Invalid time value');
}

test('shows a message in place of a page that fails to render', () => {
  const view = render(
    <ErrorBoundary>
      <Broken />
    </ErrorBoundary>,
  );
  expect(view.getByRole('alert').textContent).toContain('Invalid time value');
  expect(view.getByRole('button').textContent).toBe('Reload');
});

test('shows its children otherwise', () => {
  expect(render(<ErrorBoundary>fine</ErrorBoundary>).container.textContent).toBe('fine');
});
