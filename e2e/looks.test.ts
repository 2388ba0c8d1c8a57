import { CONSOLE_PATHS } from '@muster/actions'
import { afterAll, beforeAll, it } from 'vitest'
import { actionsOf, REDIRECTS, urlOf } from './page-actions.ts'
import { expectGoodLooks } from './people.ts'
import { openPopulatedStage, type PopulatedStage } from './populated-stage.ts'

// `npm run test:axe` checks more screens, such as menus and dialogs, in more looks.

let populated: PopulatedStage
const resources = new AsyncDisposableStack()

beforeAll(async () => {
  populated = resources.use(await openPopulatedStage())
})

afterAll(() => resources.disposeAsync())

it.each(CONSOLE_PATHS.filter(path => !REDIRECTS[path]))(
  'has no finding of axe in any theme and width, nor with forced colours: %s',
  async path => {
    const page = await populated.stage.signedInPage()
    await actionsOf(page, urlOf(populated, path))
    await expectGoodLooks(page, path)
  },
)
