import { randomBytes } from 'node:crypto'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { createClient, newDatedId, newId, publicIdOf } from '@muster/actions'
import { until } from '@muster/testkit/until'
import type { Page, Request } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { HOSTILE_NAMES, HOSTILE_TEXTS } from './hostile-texts.ts'
import { databaseOf, firstToken, type HubChild, newFolder, startedHub } from './hub-child.ts'
import { ignoreTimersOf, openStage, type Stage, signIn } from './people.ts'

/** Alarms about forbidden events on a page: scripts that ran, dialogs, and violations of the Content-Security-Policy. */
const alarms: string[] = []
const resources = new AsyncDisposableStack()
let stage: Stage
/** A hub with a hostile banner and closed sign-up. */
let other: HubChild
let page: Page
/** Another origin, whose script the operator allows. `asked` lists the paths requested from it. */
let site: { origin: string; asked: string[] }
let place: { organizationId: string; projectId: string; deviceId: string; webhookId: string }

beforeAll(async () => {
  site = await otherSite()
  const config = await configFile('<b>Announcement</b> of <a href="/status">today</a>')
  stage = resources.use(
    await openStage({
      MUSTER_CONFIG_JSON: config,
      MUSTER_LOG_LEVEL: 'trace',
      // The sign-in would end the sessions with hostile texts beyond 200, with an audit event for each.
      MUSTER_LIMIT_PERSON_SESSIONS: '1000',
    }),
  )
  page = await watchedPage()
  const { path } = resources.use(await newFolder())
  const banner = `<b>Announcement</b> ${HOSTILE_TEXTS.join(' ')}`
  const env = { MUSTER_CONFIG_JSON: await configFile(banner), MUSTER_SIGNUP: 'closed' }
  other = resources.use(await startedHub({ dataDir: join(path, 'data'), env }))
})
afterAll(() => resources.disposeAsync())

/** Writes a configuration file of the console with a banner and the script of `site`. */
async function configFile(banner: string): Promise<string> {
  const { path } = resources.use(await newFolder())
  const file = join(path, 'config.json')
  const attributes = { 'data-site': '"><img src=x onerror=pwned()>' }
  const scripts = [{ src: `${site.origin}/extra.js`, attributes }]
  await writeFile(file, JSON.stringify({ banner: { text: banner }, scripts }))
  return file
}

/** Starts a server at another origin. Its script counts its runs and sends a request to that server. */
async function otherSite() {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.url ?? '')
    response.setHeader('content-type', 'text/javascript').setHeader('access-control-allow-origin', '*')
    // The hub's pages load resources of other origins only with this header.
    response.setHeader('cross-origin-resource-policy', 'cross-origin')
    response.end(`globalThis.extraRan = (globalThis.extraRan ?? 0) + 1; void fetch('${origin()}/collect')`)
  })
  const origin = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  resources.defer(() => new Promise<void>(done => void server.close(() => done())))
  resources.defer(() => server.closeAllConnections())
  return { origin: origin(), asked }
}

/** Opens a page that adds an alarm for each effect of a hostile text. */
async function watchedPage(): Promise<Page> {
  const watched = await stage.newPage()
  await watched.exposeFunction('pwned', () => alarms.push('a script ran'))
  await watched.exposeFunction('stopped', (what: string) => alarms.push(`the policy stopped ${what}`))
  await watched.addInitScript(`document.addEventListener('securitypolicyviolation', event =>
    stopped(event.effectiveDirective + ' ' + event.blockedURI + ' ' + event.sample + ' on ' + location.pathname))`)
  watched.on('dialog', dialog => {
    alarms.push(`a dialog opened: ${dialog.message()}`)
    void dialog.dismiss()
  })
  return watched
}

/** Returns the alarms and page errors since the last call, and clears them. */
function noticed(): string[] {
  return [...alarms.splice(0), ...stage.faults.splice(0)]
}

/** Waits until the page has loaded its data. */
async function settled(): Promise<void> {
  await page.getByRole('heading', { level: 1 }).first().waitFor()
  // Playwright's `waitForFunction` evaluates a string in the page, which the Content-Security-Policy forbids.
  await until('nothing loads', () => page.evaluate<boolean>(`!document.querySelector('[aria-busy=true]')`))
}

/** Script that scrolls the page and its scroll containers by a screen. Returns true if the page was at its end. */
const SCROLL = `(() => {
  const before = scrollY
  scrollBy(0, innerHeight * 0.9)
  for (const box of document.querySelectorAll('main *'))
    if (box.scrollHeight > box.clientHeight + 40 && /auto|scroll/.test(getComputedStyle(box).overflowY))
      box.scrollTop += box.clientHeight * 0.9
  return scrollY === before
})()`

/**
 * Script that lists texts with U+202E that change the direction of other text (D12): those beside other text in their element, and those in an
 * element that does not isolate them.
 */
const UNISOLATED = `(() => {
  const found = []
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node; (node = walker.nextNode()); ) {
    if (!node.data.includes('\\u202e')) continue
    const parent = node.parentElement
    if (parent.closest('.visually-hidden')) continue
    const others = !parent.matches('bdi, code') && [...parent.childNodes].some(child => child !== node && child.nodeType === 3 && child.data.trim() !== '')
    if (others || !/isolate|plaintext/.test(getComputedStyle(parent).unicodeBidi))
      found.push('turned text in ' + location.pathname + ': ' + parent.outerHTML.slice(0, 150))
  }
  return found.slice(0, 5)
})()`

/** Script that scrolls the page and its scroll containers to their tops. */
const TO_TOP = `(() => {
  scrollTo(0, 0)
  for (const box of document.querySelectorAll('main *')) box.scrollTop = 0
})()`

/** The hostile texts that are visible on the page. */
async function shownNow(): Promise<string[]> {
  const text = (await page.evaluate<string>('document.body.innerText')).replace(/\s+/g, ' ')
  return HOSTILE_TEXTS.filter(hostile => text.includes(hostile.replace(/\s+/g, ' ')))
}

/**
 * Counts the hostile texts that a page shows, including further rows, collapsed parts and rows that appear on scrolling. First waits
 * until `least` hostile texts are shown, or ten if `least` is larger.
 */
async function shownOn(path: string, least: number): Promise<number> {
  await page.goto(`${stage.hub.url}${path}`)
  await settled()
  // Polls at long intervals, because reading hundreds of rows delays their rendering.
  const patience = { interval: 500, timeout: 60_000 }
  await expect
    .poll(async () => ({ path, shown: (await shownNow()).length }), patience)
    .toSatisfy(({ shown }) => shown >= Math.min(least, 10))
  const more = page.getByRole('button', { name: 'Load more' }).first()
  for (let time = 0; time < 2 && (await more.isVisible()); time++) {
    // Text beside the button that contains the number of loaded rows. It changes when further rows have been loaded.
    const count = () => page.evaluate<string>(`document.querySelector('.list-foot span')?.innerText`)
    const before = await count()
    // On a busy machine the hub may refuse a long query, and the person has to ask again.
    const askAgain = { interval: 5_000, timeout: 60_000 }
    await more.click()
    await expect
      .poll(async () => {
        if ((await more.isHidden()) || (await count()) !== before) return 'further rows'
        await more.click({ timeout: 1_000 }).catch(() => {})
      }, askAgain)
      .toBe('further rows')
  }
  alarms.push(...(await page.evaluate<string[]>(UNISOLATED)))
  const shown = new Set<string>()
  const scrollThrough = async (): Promise<number> => {
    for (let screen = 0; screen < 5; screen++) {
      await page.evaluate(
        `for (const part of document.querySelectorAll('details:not([open])')) part.open = true`,
      )
      for (const text of await shownNow()) shown.add(text)
      const isAtEnd = await page.evaluate<boolean>(SCROLL)
      await page.evaluate('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))')
      if (isAtEnd && screen > 2) break
    }
    return shown.size
  }
  await scrollThrough()
  // A busy browser renders virtual rows some frames after a scroll, so one pass may miss rows. Scrolls again until `least`
  // texts were seen.
  for (let pass = 0; pass < 20 && shown.size < least; pass++) {
    await page.evaluate(TO_TOP)
    await scrollThrough()
  }
  return shown.size
}

/** Elements and attributes on the page that the console itself never creates. */
function intruders(): Promise<string[]> {
  return page.evaluate(`[...document.querySelectorAll(
      'iframe, object, embed, base, video, audio, marquee, math, meta[http-equiv], script:not([src]), style, template, img, form[action], [formaction]')]
    .filter(element => !(element.matches('script') && element.parentElement === document.head && element.textContent.includes('muster.theme')))
    .map(element => element.outerHTML.slice(0, 200))
    .concat([...document.querySelectorAll('*')].flatMap(element => [...element.attributes]
      .filter(({ name, value }) => /^on/i.test(name) || (/^(href|src|xlink:href|action)$/i.test(name) && /^\\s*(javascript|data):/i.test(value)))
      .map(({ name, value }) => element.tagName + ' ' + name + '=' + value)))`)
}

/** The tag names in the banner's text. */
function bannerTags(): Promise<string[]> {
  return page
    .getByRole('region', { name: 'Announcement' })
    .evaluate(element => [...new Set([...element.querySelectorAll('span *')].map(({ tagName }) => tagName))])
}

/** Stores every hostile text wherever a person, a device or a browser could store one. */
async function plant(): Promise<typeof place> {
  await using database = await databaseOf(stage.hub.dataDir)
  const one = async (text: string): Promise<string> =>
    Object.values((await database.query(text)).rows[0] as Record<string, string>)[0]!
  const userId = await one('select user_id from "user" where is_admin limit 1')
  const organizationId = await one('select organization_id from organization limit 1')
  const projectId = newId('p')
  const deviceId = newId('d')
  const names = [...HOSTILE_NAMES]
  const texts = [...HOSTILE_TEXTS]
  const nothing = Buffer.from('')
  const insert = (text: string, ...values: unknown[]) => database.query(text, values)

  await insert('update "user" set display_name = $2 where user_id = $1', userId, names[2])
  await insert('update organization set name = $2 where organization_id = $1', organizationId, names[4])
  await insert(
    'insert into project (project_id, organization_id, name) select unnest($2::text[]), $1, unnest($3::text[])',
    organizationId,
    [projectId, ...names.map(() => newId('p'))],
    [names[0], ...names],
  )
  await insert(
    `insert into device (device_id, project_id, fingerprint_id, fingerprint_hash, name, hostname, health, last_refusal_at, last_refusal_reason)
     select id, $1, 'x', sha256(id::bytea), name, name, name, now(), name from unnest($2::text[], $3::text[]) as t (id, name)`,
    projectId,
    [deviceId, ...names.map(() => newId('d'))],
    [names[2], ...names],
  )
  await insert(
    `insert into deployment_token (token_id, token_hash, project_id, name, last_refusal_at, last_refusal_reason)
     select id, $2, $1, name, now(), name from unnest($3::text[], $4::text[]) as t (id, name)`,
    projectId,
    nothing,
    names.map(() => publicIdOf(newId('deployment'))),
    names,
  )
  await insert(
    `insert into device_property (device_id, name, value, value_json)
     select $1, 'hostile.' || n, to_json(text), to_jsonb(text) from unnest($2::text[]) with ordinality as t (text, n)`,
    deviceId,
    texts,
  )
  const info = {
    hostname: names[2],
    networkInterfaces: [{ name: names[2], addresses: [names[3]] }],
    disks: [],
  }
  await insert(
    `insert into device_property (device_id, name, value, value_json) values ($1, 'dev.nexigon.system.info', $2::json, $2::jsonb),
       ($1, 'dev.nexigon.ota.status', $3::json, $3::jsonb)`,
    deviceId,
    JSON.stringify(info),
    JSON.stringify({ state: names[2], version: names[3] }),
  )
  await insert(
    `insert into device_event (device_id, event_id, event_day, severity, category, body, attributes, emitted_at)
     select $1, id, current_date, 'Error', text, to_json(text), json_build_object(text, text, '__proto__', text), now()
       from unnest($2::text[], $3::text[]) as t (id, text)`,
    deviceId,
    [...texts.map(() => newDatedId('d_ev')), newDatedId('d_ev')],
    [...texts, texts.join('\n').repeat(3).slice(0, 50_000)],
  )
  const userIds = names.map(() => newId('u'))
  await insert(
    `insert into "user" (user_id, email, display_name) select id, n || name || '@x.example', name
       from unnest($1::text[], $2::text[]) with ordinality as t (id, name, n)`,
    userIds,
    names,
  )
  await insert(
    'insert into organization_member (organization_id, user_id) select $1, unnest($2::text[])',
    organizationId,
    userIds,
  )
  await insert(
    `insert into organization_invitation (invitation_id, organization_id, email)
     select id, $1, n || name || '@y.example' from unnest($2::text[], $3::text[]) with ordinality as t (id, name, n)`,
    organizationId,
    names.map(() => newId('org_invite')),
    names,
  )
  const others = names.slice(0, 60).map(() => newId('org'))
  await insert(
    'insert into organization (organization_id, name) select unnest($1::text[]), unnest($2::text[])',
    others,
    names.slice(0, 60),
  )
  await insert(
    `insert into organization_member (organization_id, user_id) select id, $1 from unnest($2::text[]) with ordinality as t (id, n) where n <= 30`,
    userId,
    others,
  )
  await insert(
    `insert into organization_invitation (invitation_id, organization_id, email)
     select i, o, (select email from "user" where user_id = $1) from unnest($2::text[], $3::text[]) as t (i, o)`,
    userId,
    others.slice(30).map(() => newId('org_invite')),
    others.slice(30),
  )
  await insert(
    `insert into session (session_id, token_hash, user_id, user_agent, expires_at)
     select id, $2, $1, agent, now() + interval '1 day' from unnest($3::text[], $4::text[]) as t (id, agent)`,
    userId,
    nothing,
    texts.map(() => publicIdOf(newId('u_session_sk'))),
    texts.map(text => text.slice(0, 512)),
  )
  await insert(
    `insert into user_token (token_id, token_hash, user_id, name)
     select id, $2, $1, name from unnest($3::text[], $4::text[]) as t (id, name)`,
    userId,
    nothing,
    names.map(() => publicIdOf(newId('u_sk'))),
    names,
  )
  const actor = JSON.stringify({ actor: 'User', userId: userIds[2] })
  await insert(
    `insert into audit_event (event_id, event, actor, actor_id, data, organization_id, project_id, device_id)
     select id, text, $1::jsonb, $2, jsonb_build_object(text, text), $3, $4, $5 from unnest($6::text[], $7::text[]) as t (id, text)`,
    actor,
    userIds[2],
    organizationId,
    projectId,
    deviceId,
    texts.map(() => newDatedId('audit_ev')),
    texts,
  )
  await insert(
    `insert into audit_action (action_id, action, actor, actor_id, data, status, node_id, request_id, finished_at)
     select id, text, $1::jsonb, $2, jsonb_build_object(text, text), 'Succeeded', 'x', 'x', now() from unnest($3::text[], $4::text[]) as t (id, text)`,
    actor,
    userIds[2],
    texts.map(() => newDatedId('audit_act')),
    texts,
  )
  await insert(
    `insert into cluster_node (node_id, name, last_heartbeat) values ($1, $2, now() + interval '1 hour')`,
    newId('cluster_node'),
    names[2],
  )
  const webhookIds = names.map(() => newId('wh'))
  await insert(
    `insert into webhook (webhook_id, organization_id, name, format, address, shown_address, room, template, types, secret, is_enabled)
     select id, $1, name, 'matrix', $2, name, name, name, array[name], $2, false from unnest($3::text[], $4::text[]) as t (id, name)`,
    organizationId,
    nothing,
    webhookIds,
    names,
  )
  await insert('insert into webhook_queue (webhook_id) select unnest($1::text[])', webhookIds)
  await insert(
    `insert into webhook_attempt (webhook_id, message_id, attempt, type, attempted_at, took_ms, error, answer)
     select $1, id, 1, text, now(), 1, text, text from unnest($2::text[], $3::text[]) as t (id, text)`,
    webhookIds[0],
    texts.map(() => newDatedId('msg')),
    texts,
  )
  return { organizationId, projectId, deviceId, webhookId: webhookIds[0]! }
}

it('raises an alarm when a script runs or the policy blocks one', async () => {
  await page.goto(`${stage.hub.url}/login`)
  await settled()
  await page.evaluate(`pwned()`)
  await page.evaluate(`document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=pwned()>')`)
  await page.evaluate(
    `document.head.append(Object.assign(document.createElement('script'), { src: 'https://evil.example/x.js' }))`,
  )
  await expect.poll(() => alarms.join('\n')).toContain('script-src-elem https://evil.example/x.js')
  await expect.poll(() => alarms.join('\n')).toContain('script-src-attr inline')
  expect(alarms).toContain('a script ran')
  noticed()
})

it('runs the operator’s script, which may send requests to its own site', async () => {
  await page.goto(`${stage.hub.url}/login`)
  await settled()
  await until('the script has run', () => page.evaluate<boolean>('globalThis.extraRan === 1'))
  await expect.poll(() => site.asked).toContain('/collect')
  expect(await bannerTags()).toEqual(['B', 'A'])
  expect(noticed()).toEqual([])
})

it('shows only the text and allowed tags of a hostile banner', async () => {
  await page.goto(`${other.url}/login`)
  await settled()
  expect((await bannerTags()).filter(tag => !/^(A|B|STRONG|EM|CODE|BR)$/.test(tag))).toEqual([])
  expect(await intruders()).toEqual([])
  // The sanitizer parses the banner in a separate document. In that document the browser blocks the banner's scripts
  // and reports policy violations. These reports are expected.
  const isStopped = (what: string) => /^the policy stopped|Content Security Policy/.test(what)
  expect(noticed().filter(what => !isStopped(what))).toEqual([])
})

it('starts with random secrets, listens only on this machine, and can have closed sign-up', async () => {
  const [first, second] = await Promise.all(
    [stage.hub, other].map(async hub => {
      const read = (name: string) => readFile(join(hub.dataDir, name), 'utf8')
      const { password } = JSON.parse(await read('initial-admin.json')) as { password: string }
      return [password, firstToken(hub), await read('instance-key'), await read('database.json')]
    }),
  )
  for (const [index, secret] of first!.entries()) {
    expect(secret.length).toBeGreaterThan(16)
    expect(secret).not.toBe(second![index])
  }
  for (const name of ['initial-admin.json', 'first-token', 'instance-key', 'database.json']) {
    const { mode } = await stat(join(other.dataDir, name))
    expect({ name, mode: mode & 0o777 }).toEqual({ name, mode: 0o600 })
  }
  for (const address of Object.values(networkInterfaces()).flatMap(list => list ?? [])) {
    if (address.internal || address.family !== 'IPv4') continue
    await expect(fetch(`http://${address.address}:${other.port}/healthz`)).rejects.toThrow()
  }
  const anonymous = createClient({ baseUrl: other.url })
  const account = {
    email: 'new@a.example',
    password: 'correct horse battery',
    consentedToTerms: true as const,
  }
  await expect(anonymous('users_Register', account)).rejects.toThrow('Sign-up is closed on this instance.')
})

it.each([1440, 390, 200])(
  'does not move a page of width %i when the text of the banner appears',
  async width => {
    const fresh = await page.context().newPage()
    await fresh.setViewportSize({ width, height: 1000 })
    // A page waits at most 1 s for the settings, which a busy machine can exceed.
    await ignoreTimersOf(fresh, 1_000)
    const loaded = Promise.withResolvers<void>()
    await fresh.route('**/BannerText-*.js', async route => {
      await loaded.promise
      await route.continue()
    })
    // The settings that have the banner's text come after the page's code.
    await fresh.route('**/api/config.json', async route => {
      await fresh.waitForTimeout(300)
      await route.continue()
    })
    await fresh.goto(`${stage.hub.url}/login`)
    const button = fresh.getByRole('button', { name: 'Log in' })
    await button.waitFor()
    await fresh.evaluate('document.fonts.ready')
    const before = await button.boundingBox()
    loaded.resolve()
    await fresh.getByRole('region', { name: 'Announcement' }).waitFor()
    expect(await button.boundingBox()).toEqual(before)
    await fresh.unrouteAll({ behavior: 'wait' })
    await fresh.close()
  },
)

it('redirects only to pages of this site after signing in', async () => {
  const start = /^\/($|org_)/
  const elsewhere = [
    '//evil.example',
    '///evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '/\\/evil.example',
    '/\t/evil.example',
    '/\n/evil.example',
    '\t//evil.example',
    ' //evil.example',
    'https://evil.example',
    'http:evil.example',
    'javascript:pwned()',
    'java\nscript:pwned()',
    'data:text/html,<script>pwned()</script>',
    '/%0d%0aLocation:%20https://evil.example',
    '/%5cevil.example',
    '/%2f/evil.example',
    '/.//evil.example',
    'evil.example',
    '@evil.example',
  ]
  for (const redirect of elsewhere) {
    await page.goto(`${stage.hub.url}/login?redirect=${encodeURIComponent(redirect)}`)
    await page.getByLabel('Email').fill(stage.admin.email)
    await page.getByLabel(/^Password/).fill(stage.admin.password)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page
      .waitForURL(url => url.pathname !== '/login')
      .catch(async (cause: unknown) => {
        throw new Error(`still at sign-in with ${redirect}: ${await page.innerText('body')}`, { cause })
      })
    await page.getByRole('heading', { level: 1 }).first().waitFor()
    const { origin, pathname } = new URL(page.url())
    expect({ redirect, origin }).toEqual({ redirect, origin: stage.hub.url })
    // A `redirect` that starts with `/%` or `/.` is a path of the hub. The console opens that path, even if it has no such page.
    // All other values of `redirect` lead to the start page.
    if (!/^\/[%.]/.test(redirect))
      expect({ redirect, pathname }).toEqual({ redirect, pathname: expect.stringMatching(start) })
  }
  expect(noticed().filter(what => !what.includes('404'))).toEqual([])
  await page.goto(`${stage.hub.url}/login?redirect=${encodeURIComponent('/design-system?x=1#top')}`)
  await page.getByLabel('Email').fill(stage.admin.email)
  await page.getByLabel(/^Password/).fill(stage.admin.password)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.waitForURL(`${stage.hub.url}/design-system?x=1#top`)
})

it('shows hostile texts as plain text on every page', { timeout: 400_000 }, async () => {
  place = await plant()
  const { organizationId, projectId, deviceId, webhookId } = place
  const organization = `/${organizationId}`
  const project = `${organization}/projects/${projectId}`
  await signIn(page, stage, stage.admin)
  await page.setViewportSize({ width: 1440, height: 4000 })
  // Paths of pages with the lowest expected number of hostile texts. Virtualized tables show only some of their rows at a time.
  const pages: [path: string, shown: number][] = [
    [`${organization}/projects`, 100],
    [`${project}/devices`, 50],
    [`${project}/devices/${deviceId}`, 50],
    [`${project}/tokens`, 100],
    [`${project}/settings`, 1],
    [`${project}/log`, 50],
    [`${organization}/settings/members`, 100],
    [`${organization}/settings/webhooks`, 100],
    [`${organization}/settings/webhooks/${webhookId}`, 50],
    ['/user/invitations', 20],
    ['/settings/profile', 1],
    ['/settings/security', 100],
    ['/settings/sessions', 50],
    ['/admin/dashboard', 1],
    ['/admin/users', 100],
    ['/admin/log', 50],
    ['/admin/actions', 50],
    ['/admin/jobs', 0],
    ['/admin/cluster', 1],
  ]
  const seen: string[] = []
  const lacking: string[] = []
  for (const [path, least] of pages) {
    const shown = await shownOn(path, least)
    seen.push(`${path}: ${shown} texts`)
    expect({ path, intruders: await intruders() }).toEqual({ path, intruders: [] })
    expect({ path, noticed: noticed() }).toEqual({ path, noticed: [] })
    if (shown < least) lacking.push(`${path}: ${shown} of ${least}`)
  }
  process.stdout.write(`${HOSTILE_TEXTS.length} hostile texts; ${seen.join(', ')}\n`)
  expect(lacking).toEqual([])
})

it('shows hostile texts as plain text in menus, searches and titles', async () => {
  const { organizationId } = place
  await page.goto(
    `${stage.hub.url}/${organizationId}/projects?q=${encodeURIComponent('<img src=x onerror=pwned()>')}`,
  )
  await settled()
  for (const name of [/Account menu/, /organization/i]) {
    await page.getByRole('button', { name }).first().click()
    await page.getByRole('menu').waitFor()
    expect(await intruders()).toEqual([])
    await page.keyboard.press('Escape')
  }
  for (const path of [
    '/<script>pwned()</script>',
    '/org_<img src=x onerror=pwned()>/projects',
    '/signup/verify?jwt=<img src=x onerror=pwned()>',
    '/set-password?jwt=javascript:pwned()',
    '/%3Cimg%20src%3Dx%20onerror%3Dpwned()%3E#<svg onload=pwned()>',
  ]) {
    await page.goto(`${stage.hub.url}${path}`)
    await page.getByRole('heading').first().waitFor()
    expect({ path, intruders: await intruders() }).toEqual({ path, intruders: [] })
  }
  expect(alarms.splice(0)).toEqual([])
})

it('does not violate its own policy on pages without hostile texts', async () => {
  for (const path of [
    '/login',
    '/signup/',
    '/reset-password',
    '/confirm-email',
    '/design-system',
    '/nowhere',
  ]) {
    await page.goto(`${stage.hub.url}${path}`)
    // The design-system page has samples that stay `aria-busy`, so `settled` would time out on it.
    await page.getByRole('heading', { level: 1 }).first().waitFor()
    await page.waitForLoadState('networkidle')
    expect({ path, noticed: noticed() }).toEqual({ path, noticed: [] })
  }
})

it('leaks the JWT of a mailed link neither in a Referer header nor in the log', async () => {
  const jwt = `eyJhbGciOiJIUzI1NiJ9.${randomBytes(20).toString('hex')}.x`
  const sent: { request: Request; headers: Record<string, string> }[] = []
  const answered = new Set<Request>()
  const reading: Promise<unknown>[] = []
  page.on('request', request => {
    reading.push(
      request.allHeaders().then(
        headers => sent.push({ request, headers }),
        () => {},
      ),
    )
  })
  page.on('requestfinished', request => answered.add(request))
  const isWrite = (request: Request): boolean => request.method() === 'POST'
  const activated = page.waitForEvent('requestfinished', isWrite)
  for (const path of ['/signup/verify', '/set-password']) {
    await page.goto(`${stage.hub.url}${path}?jwt=${jwt}`)
    await page.getByRole('heading').first().waitFor()
    await activated
  }
  await page.goto(`${stage.hub.url}/login`)
  await page.getByRole('heading').first().waitFor()
  await Promise.all(reading)
  expect(sent.length).toBeGreaterThan(5)
  for (const { request, headers } of sent) {
    const url = request.url()
    expect({ url, referer: headers.referer || undefined }).toEqual({ url, referer: undefined })
  }
  // POST requests have no `Referer` header, but they have the `Origin` header that the hub checks.
  // Requests that the next page cancelled are left out, because the browser may not have added that header yet.
  const writes = sent.filter(({ request }) => isWrite(request) && answered.has(request))
  expect(writes.length).toBeGreaterThan(0)
  for (const { headers } of writes) expect(headers.origin).toBe(stage.hub.url)
  expect(stage.hub.stderr()).not.toContain(jwt)
  expect(noticed()).toEqual([])
})
