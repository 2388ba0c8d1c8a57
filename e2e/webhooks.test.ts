import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connectDevice } from '@muster/testkit'
import { until } from '@muster/testkit/until'
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { changeDatabase, firstToken } from './hub-child.ts'
import { allowClipboard, expectGoodScreen, invoke, openStage, organizationOf, type Stage } from './people.ts'
import { addFailingWebhook } from './populated-stage.ts'

const MIRA = { email: 'mira@halden.example', password: 'correct horse battery' }

let stage: Stage
/** Page of the administrator of the organization. */
let page: Page
let organizationId: string
let projectId: string
let receiver: Receiver
const resources = new AsyncDisposableStack()

/** A receiver of webhooks on this machine. */
type Receiver = AsyncDisposable & {
  url: string
  /** Ids and types of the messages, in the order of their arrival. */
  messages: { id: string; type: string }[]
  /** Requests of an export of events. */
  exports: { path: string; authorization: string | undefined; body: string }[]
  answer: (response: ServerResponse) => void
}

async function openReceiver(): Promise<Receiver> {
  const opened: Receiver = {
    url: '',
    messages: [],
    exports: [],
    answer: response => void response.end('ok'),
    [Symbol.asyncDispose]: () => new Promise(done => server.close(() => done())),
  }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      const { url: path = '' } = request
      if (path.endsWith('/v1/logs')) {
        opened.exports.push({ path, authorization: request.headers.authorization, body })
      } else {
        const { type } = JSON.parse(body) as { type: string }
        opened.messages.push({ id: String(request.headers['webhook-id']), type })
      }
      response.setHeader('connection', 'close')
      opened.answer(response)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  opened.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
  return opened
}

beforeAll(async () => {
  stage = resources.use(await openStage({ MUSTER_OUTBOUND_ALLOW: 'webhooks:127.0.0.1,otlp:127.0.0.1' }))
  receiver = resources.use(await openReceiver())
  page = await stage.signedInPage({ prepare: allowClipboard })
  organizationId = await organizationOf(page)
  const { projects } = await invoke(page, 'organizations_QueryProjects', { organizationId })
  projectId = projects[0]!.projectId
  await invoke(page, 'users_Create', { ...MIRA, displayName: 'Mira' })
  const { users } = await invoke(page, 'users_Query', { filter: { text: MIRA.email } })
  await invoke(page, 'organizations_AddMember', { organizationId, userId: users[0]!.userId })
})

beforeEach(async () => {
  page = await stage.signedInPage({ prepare: allowClipboard })
})

afterAll(() => resources.disposeAsync())

const webhooksUrl = () => `${stage.hub.url}/${organizationId}/settings/webhooks`
const heading = (name: string) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
const navigation = (of: Page) => of.getByRole('navigation', { name: 'Organization settings' })
const rowOf = (name: string): Locator =>
  page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) })

/** Makes each message due now that waits for another attempt. */
function passPause(): Promise<void> {
  return changeDatabase(
    stage.hub,
    "update webhook_delivery set due_at = now() where state = 'Waiting'; update webhook_queue set due_at = now() where waiting > 0",
  )
}

it('creates a webhook with the keyboard after a test, and shows its secret once', async () => {
  await page.goto(`${stage.hub.url}/${organizationId}/settings/members`)
  await navigation(page).getByRole('link', { name: 'Webhooks' }).click()
  await heading('Webhooks')
  await page.getByRole('heading', { name: 'Tell another program what happens' }).waitFor()
  await expectGoodScreen(page, 'webhooks-none')
  await page.keyboard.press('n')
  const dialog = page.getByRole('dialog', { name: 'New Webhook' })
  await dialog.getByLabel('Name').waitFor()
  await page.keyboard.type('Tickets')
  await dialog.getByLabel('Address').fill('http://10.20.1.5/hook')
  await dialog.getByLabel('Address').press('Enter')
  await dialog.getByText('MUSTER_OUTBOUND_ALLOW', { exact: false }).waitFor()
  await dialog.getByLabel('Address').fill(receiver.url)
  const types = dialog.getByRole('combobox', { name: 'Types of messages' })
  await types.fill('namechanged')
  await dialog.getByRole('option', { name: 'projects.NameChanged' }).click()
  await types.fill('devices.*')
  await types.press('Enter')
  await dialog.getByRole('button', { name: 'Remove devices.*' }).waitFor()
  await dialog.getByRole('combobox', { name: 'Project' }).fill('First')
  await dialog.getByRole('option', { name: /^First project/ }).click()
  await expectGoodScreen(page, 'webhook-new')

  receiver.answer = response => void response.writeHead(500).end('<b>maintenance</b>')
  await dialog.getByRole('button', { name: 'Create Webhook' }).click()
  const refusal = dialog.getByRole('alert')
  await refusal.getByText(/answered the test message with 500 Internal Server Error after/).waitFor()
  await refusal.getByText('<b>maintenance</b>').waitFor()
  await expectGoodScreen(page, 'webhook-new-refused')
  await refusal.getByRole('button', { name: 'Save without a test' }).waitFor()
  receiver.answer = response => void response.end('ok')
  await dialog.getByRole('button', { name: 'Create Webhook' }).click()
  const made = page.getByRole('dialog', { name: 'Webhook created' })
  await made.getByText(/^The test message was answered with 200 OK after/).waitFor()
  const secret = await made.locator('[data-secret] code').innerText()
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  await expectGoodScreen(page, 'webhook-secret')
  await made.getByRole('button', { name: /^Copy signing secret/ }).click()
  await until('the secret is in the clipboard', async () => (await clipboard()) === secret)
  await made.getByRole('button', { name: 'Done' }).click()
  await rowOf('Tickets').getByText('projects.NameChanged, devices.*').waitFor()
  await rowOf('Tickets').getByText('of First project').waitFor()
  await page.reload()
  await rowOf('Tickets').getByText('Delivering', { exact: true }).waitFor()
  expect(await page.content()).not.toContain(secret)
})

it('shows failing attempts as they happen, tests the receiver, and sends a message again', async () => {
  await page.goto(webhooksUrl())
  await page.getByRole('link', { name: 'Tickets', exact: true }).click()
  await heading('Tickets')
  await page.getByText('No message was sent yet.', { exact: false }).waitFor()
  receiver.answer = response => void response.writeHead(502).end('bad gateway')
  receiver.messages.length = 0
  await invoke(page, 'projects_SetName', { projectId, name: 'Quay 4' })
  const problem = page.getByRole('region', { name: /^No 2xx since/ })
  await problem.getByText('502 Bad Gateway', { exact: false }).waitFor()
  await problem.getByText('1 message waits.', { exact: false }).waitFor()
  await page
    .getByRole('button', { name: /^Details of msg_/ })
    .first()
    .click()
  await page.locator('pre').getByText('bad gateway').waitFor()
  await expectGoodScreen(page, 'webhook-failing')

  await problem.getByRole('button', { name: 'Send a test now' }).click()
  const answer = page.getByRole('alert').filter({ hasText: 'The receiver answered the test message' })
  await answer.getByText('502 Bad Gateway', { exact: false }).waitFor()
  await answer.getByRole('button', { name: 'Close' }).click()

  receiver.answer = response => void response.end('ok')
  await passPause()
  await problem.waitFor({ state: 'detached' })
  await page.getByText('Delivering', { exact: true }).waitFor()
  const sent = () => receiver.messages.filter(({ type }) => type === 'projects.NameChanged')
  const before = sent().length
  await page
    .getByRole('button', { name: /^Replay msg_/ })
    .first()
    .click()
  await page.getByText('projects.NameChanged is sent again.').waitFor()
  await until('the message has come again', () => sent().length === before + 1)
  expect(new Set(sent().map(({ id }) => id)).size).toBe(1)

  await page.getByRole('button', { name: 'Failed', exact: true }).click()
  await page.waitForURL(/show=failed/)
  await until('only failed attempts are shown', async () => (await page.getByText('200 OK').count()) === 0)
})

it('sends all failed messages again since a time', async () => {
  const webhookId = await addFailingWebhook(stage, page, { organizationId, name: 'Duty phone' })
  await page.goto(`${webhooksUrl()}/${webhookId}`)
  await page.getByRole('button', { name: /^Replay all failed since/ }).click()
  const dialog = page.getByRole('dialog', { name: 'Replay Failed Messages' })
  await expectGoodScreen(page, 'webhook-replay')
  await dialog.getByRole('button', { name: 'Send Again' }).click()
  await page.getByText('No message failed since then.').waitFor()
  await changeDatabase(
    stage.hub,
    `insert into webhook_delivery (webhook_id, message_id, created_at, position, type, state)
     values ('${webhookId}', 'msg_20261121-0800-17czX8X1', now(), 1, 'devices.Created', 'Failed')`,
  )
  await page.getByRole('button', { name: 'Replay failed…' }).click()
  await dialog.getByRole('button', { name: 'Send Again' }).click()
  await page.getByText('1 message is sent again.').waitFor()
})

it('changes a webhook, makes a new secret, turns it off and on, and deletes it', async () => {
  const webhookId = await addFailingWebhook(stage, page, { organizationId, name: 'Asset register' })
  await page.goto(webhooksUrl())
  await page.getByRole('alert').filter({ hasText: 'Asset register' }).waitFor()
  const onSwitch = page.getByRole('switch', { name: 'Webhook Asset register' })
  await onSwitch.click()
  await rowOf('Asset register').getByText('Off', { exact: true }).first().waitFor()
  await expectGoodScreen(page, 'webhooks')
  await page.getByRole('link', { name: 'Asset register', exact: true }).click()
  await page.getByRole('heading', { name: 'This webhook is off' }).waitFor()
  await expectGoodScreen(page, 'webhook-off')
  await page.getByRole('button', { name: 'Turn it on' }).click()
  await page.getByRole('heading', { name: 'This webhook is off' }).waitFor({ state: 'detached' })

  await page.getByRole('button', { name: 'Change…' }).click()
  const change = page.getByRole('dialog', { name: 'Change Webhook' })
  await change.getByLabel('Name').fill('Assets')
  await change.getByRole('button', { name: 'Remove none.*' }).click()
  await expectGoodScreen(page, 'webhook-change')
  await change.getByRole('button', { name: 'Save Webhook' }).click()
  await page.getByText('Webhook Assets changed.').waitFor()
  await heading('Assets')
  await page.getByRole('region', { name: 'Sends' }).getByText('All messages').waitFor()

  page.once('dialog', question => void question.accept())
  await page.getByRole('button', { name: 'Rotate…' }).click()
  const secret = page.getByRole('dialog', { name: 'New signing secret' })
  await secret.getByText(/^whsec_/).waitFor()
  await secret.getByRole('button', { name: 'Done' }).click()
  await page.getByText('signs too until').waitFor()

  await changeDatabase(
    stage.hub,
    `update webhook set is_enabled = false, off_reason = 'Gone' where webhook_id = '${webhookId}'`,
  )
  await page.reload()
  await page.getByRole('heading', { name: 'The hub turned it off: the receiver answered 410 Gone' }).waitFor()
  await changeDatabase(
    stage.hub,
    `update webhook set is_enabled = true, off_reason = null where webhook_id = '${webhookId}';
     update webhook_queue set held_at = now() where webhook_id = '${webhookId}'`,
  )
  await page.reload()
  await page.getByRole('heading', { name: 'Held, because the hub was restored' }).waitFor()
  await expectGoodScreen(page, 'webhook-held')
  page.once('dialog', question => void question.accept())
  await page.getByRole('button', { name: /^Drop what waits/ }).click()
  await page.getByText('What waited was dropped.').waitFor()

  page.once('dialog', question => void question.accept())
  await page.getByRole('button', { name: 'Delete Webhook' }).click()
  await page.getByText('Webhook Assets deleted.').waitFor()
  await heading('Webhooks')
  expect(await rowOf('Assets').count()).toBe(0)
})

it('exports the events of devices to a collector that an administrator sets in the settings of a project', async () => {
  await page.goto(`${stage.hub.url}/${organizationId}/projects/${projectId}/settings`)
  const section = page.getByRole('region', { name: 'Export of events', exact: true })
  const address = section.getByLabel('Address')
  const save = section.getByRole('button', { name: 'Save' })
  await section.getByRole('checkbox', { name: 'Send events to a collector' }).check()
  await address.fill('http://10.20.1.5:4318')
  await section.getByRole('button', { name: 'Add a header' }).click()
  await section.getByLabel('Name of header 1').fill('Authorization')
  await save.click()
  await section.getByText('The header Authorization has no value.').waitFor()
  await section.getByLabel('Value of header 1', { exact: false }).first().fill('Bearer abc')
  await save.click()
  await section
    .getByRole('alert')
    .getByText(/^Found an address that is private.*with `otlp:`\.$/)
    .waitFor()
  expect(await address.getAttribute('aria-invalid')).toBe('true')
  await expectGoodScreen(page, 'project-export-refused')

  receiver.answer = response => void response.end('{}')
  await address.fill(receiver.url)
  await save.click()
  await page.getByText('Events of devices are exported.').waitFor()
  await section.getByText('Delivering', { exact: true }).waitFor()
  expect(await page.content()).not.toContain('Bearer abc')
  await using device = await connectDevice({ url: stage.hub.url, token: firstToken(stage.hub) })
  const publish = (eventId: string, body: string) =>
    device.invoke('devices_PublishEvents', {
      deviceId: device.deviceId,
      events: [{ eventId, severity: 'Warning', body, attributes: {}, emittedAt: new Date().toISOString() }],
    })
  const body = 'The crane is overloaded'
  await publish('d_ev_20261130-1203-17czX8X1', body)
  await until('the collector has the event', () => receiver.exports.some(one => one.body.includes(body)))
  expect(receiver.exports.at(-1)).toMatchObject({ path: '/hook/v1/logs', authorization: 'Bearer abc' })

  // A blank value keeps the stored one, but not for another host.
  await page.reload()
  const kept = section.getByText('Blank: the stored value stays.')
  await kept.waitFor()
  await address.fill('http://127.0.0.1:9/hook')
  await kept.waitFor({ state: 'detached' })
  await save.click()
  await section.getByText('The header Authorization has no value.').waitFor()
  await address.fill(receiver.url)
  await kept.waitFor()
  await section.getByRole('checkbox', { name: 'Send events to a collector' }).uncheck()
  await save.click()
  await page.getByText('The export of events is off.').waitFor()
  await section.getByText('Off', { exact: true }).waitFor()
  const { config } = await invoke(page, 'projects_GetOtlpConfig', { projectId })
  expect(config).toEqual({ enabled: false, endpoint: receiver.url, headers: { Authorization: '********' } })
  await expectGoodScreen(page, 'project-export')

  await section.getByRole('link', { name: 'Attempts, replay and deletion' }).click()
  await page.getByText('OpenTelemetry (OTLP)').waitFor()
  await page.getByRole('heading', { name: 'This webhook is off' }).waitFor()
  expect(
    await page.getByRole('button', { name: /^(Send Test|Send a test now|Change…|Rotate…)$/ }).count(),
  ).toBe(0)
  // A batch that was delivered cannot be sent again.
  await page.getByRole('button', { name: /^Details of msg_/ }).waitFor()
  expect(await page.getByRole('button', { name: /^Replay msg_/ }).count()).toBe(0)
  await expectGoodScreen(page, 'webhook-export')
  await page.getByRole('button', { name: 'Turn it on' }).click()
  await page.getByText('Delivering', { exact: true }).waitFor()
  await page.getByRole('link', { name: 'Change in the settings of the project' }).click()
  await section.getByText('Delivering', { exact: true }).waitFor()

  receiver.answer = response => void response.writeHead(503).end()
  await publish('d_ev_20261130-1204-17czX8X2', 'The crane is still overloaded')
  await section.getByText('Failing since').waitFor()
  await section.getByText('1 event waits.').waitFor()
  await expectGoodScreen(page, 'project-export-failing')
  await section.getByRole('link', { name: 'Attempts, replay and deletion' }).click()
  await page.getByRole('region', { name: /^No 2xx since/ }).waitFor()
  await page.getByRole('button', { name: /^Replay msg_/ }).waitFor()
  await expectGoodScreen(page, 'webhook-export-failing')
  receiver.answer = response => void response.end('{}')
})

it('does not show a member the export of events', async () => {
  const mira = await stage.signedInPage({ person: MIRA })
  await mira.goto(`${stage.hub.url}/${organizationId}/projects/${projectId}/settings`)
  await mira.getByRole('region', { name: 'Retention', exact: true }).waitFor()
  expect(await mira.getByRole('region', { name: 'Export of events' }).count()).toBe(0)
})

it('has no entry and no page for a member, until the member becomes an administrator', async () => {
  const mira = await stage.signedInPage({ person: MIRA })
  await mira.goto(`${stage.hub.url}/${organizationId}/settings/members`)
  await navigation(mira).getByRole('link', { name: 'General' }).waitFor()
  expect(await navigation(mira).getByRole('link', { name: 'Webhooks' }).count()).toBe(0)
  await mira.goto(webhooksUrl())
  await mira.getByRole('heading', { level: 1, name: 'Page not Found' }).waitFor()
  const { webhooks } = await invoke(page, 'webhooks_Query', { organizationId })
  await mira.goto(`${webhooksUrl()}/${webhooks[0]!.webhookId}`)
  await mira.getByRole('heading', { level: 1, name: 'Page not Found' }).waitFor()
  await expectGoodScreen(mira, 'webhook-absent')

  const { users } = await invoke(page, 'users_Query', { filter: { text: MIRA.email } })
  const { userId } = users[0]!
  await invoke(page, 'organizations_SetMemberIsAdmin', { organizationId, userId, isAdmin: true })
  await navigation(mira).getByRole('link', { name: 'Webhooks' }).click()
  await mira.getByRole('link', { name: 'Tickets', exact: true }).waitFor()
})

const clipboard = () => page.evaluate<string>('navigator.clipboard.readText()')
