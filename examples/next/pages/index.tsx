import type { ReactElement } from 'react';

export default function Shop(): ReactElement {
  return (
    <form action="/api/orders" method="post">
      <button type="submit">Order a teapot</button> <a href="/ops/hub">Dashboard</a>
    </form>
  );
}
