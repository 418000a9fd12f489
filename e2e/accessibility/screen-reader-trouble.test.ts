import { REQUEST_ID } from '../../ui/testing/answer-request.js';
import { serveAnswers } from '../testing/answering-dashboard.js';
import { expect, test } from '../testing/fixtures.js';

test.describe('what a screen reader reads of a hub in trouble', { tag: '@any-width' }, () => {
  test('problems first, key figures with their periods, a chart, and groups of rows', async ({ page, serve }) => {
    const { dashboard } = await serveAnswers(serve);
    await page.goto(`${dashboard.origin}/#/?group=prefix`);
    await expect(page.locator('main')).toMatchAriaSnapshot(`
      - main:
        - region "Needs attention":
          - heading "Needs attention" [level=2]
          - list:
            - listitem:
              - text: "Error:"
              - link "refund.requested"
              - text: /\\d+ of \\d+ failed in 5 min \\(100%\\) gateway timeout after 3000 ms · for \\d+ min, last \\d+ s ago/
            - listitem:
              - link "search.indexed"
            - listitem:
              - link "payment.requested"
            - listitem:
              - button /\\+\\d more/
        - region "Overview":
          - term: Event rate 1 min
          - definition: /\\d+\\/s/
          - term: Failed events 5 min
          - term: Failure rate 5 min
          - term: Pending events 12 running
          - term: /Waiting p95, 5 min one waits for \\d min/
          - term: Running p95 5 min
          - term: Received events since start
          - region "Events per second":
            - heading "Events per second" [level=2]
            - group "Range of the chart":
              - button "1 h" [pressed]
            - slider "Events per second, last 1 h"
            - group: View data
        - region "Events":
          - heading "Events" [level=2]
          - table "Event types with their counts. The column headers sort.":
            - rowgroup:
              - row /refund/:
                - rowheader "refund 1 1 failing":
                  - button "refund 1" [expanded]
              - row /Failing refund.requested/:
                - cell "Failing"
                - rowheader "refund.requested"
                - cell "100%"
    `);
    const chart = page.getByRole('slider', { name: 'Events per second, last 1 h' });
    await expect(chart).toHaveAttribute(
      'aria-valuetext',
      / so far: [\d,]+ received, [\d,]+ completed, [\d,]+ failed, waiting p95 ~\d+ m?s, running p95 ~\d+ m?s$/,
    );
    await page.getByText('View data').click();
    const data = page.getByRole('table', { name: 'Events, last 1 h' });
    await expect(data.getByRole('rowheader').first()).toHaveText(/ so far$/);
    await expect(data.getByRole('rowheader').nth(1)).not.toHaveText(/so far/);
  });

  test('a request: its facts, and a table with the level, status and times of each part', async ({ page, serve }) => {
    const { dashboard } = await serveAnswers(serve);
    await page.goto(`${dashboard.origin}/#/requests/${REQUEST_ID}`);
    await expect(page.locator('main')).toMatchAriaSnapshot(`
      - main:
        - region /order.created in request 4be0643f-.*/:
          - heading /order.created in request 4be0643f-.*/ [level=2]:
            - link "order.created"
          - region /Event 4be0643f-.*/:
            - term: Status
            - definition: payment.requested failed
            - term: So far
            - definition: 1 min 35 s
            - term: Events and runs
            - definition: "4"
            - term: Pending
            - definition: "1"
            - term: Steps
            - definition: "4"
            - term: Accepted
            - definition
            - term: Service
            - definition: shop
          - table "Events, runs, attempts and steps of the request, as a tree":
            - rowgroup:
              - row /Name Status Waited Ran 0 to 1 min 35 s, cut 12.9 s, cut 20 s, cut 33.* s/
            - rowgroup:
              - 'row "Level 1: order.created Completed 400 ms 2.5 s"'
              - 'row "Level 2: payment.requested card declined: order 1048 of 9920 Failed 19 s 9.1 s"'
              - 'row "Level 3: Attempt 1 no response within 3000 ms Failed — 3 s"'
              - 'row "Level 3: Attempt 2 no response within 3000 ms Failed — 3 s"'
              - 'row "Level 3: Attempt 3 card declined: order 1048 of 9920 Failed — 3.1 s"'
              - 'row "Level 3: order.failed Completed 100 ms 900 ms"'
              - 'row "Level 2: fulfil workflow Suspended 1 min 10 s 22 s"'
              - 'row "Level 3: pick Completed — 12 s"'
              - 'row "Level 3: cool down sleep Completed 30 s —"'
              - 'row "Level 3: pack Completed 7 s 10 s"'
              - 'row "Level 3: parcel scanned waits for parcel.scanned Suspended 33 s —"'
    `);
  });
});
