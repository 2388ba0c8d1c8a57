import type { ReactNode } from 'react'
import '../../styles/app.css'
import { ThemeMenu } from '../../shell/app/ThemeMenu.tsx'
import { Logo } from '../../shell/Logo.tsx'
import { Page, PageHead } from '../../ui/app/Page.tsx'
import { Toaster } from '../../ui/app/Toaster.tsx'
import { Main } from '../../ui/Main.tsx'
import { BadgeSamples, ButtonSamples, ColorSamples, TypeSamples } from './BasicSamples.tsx'
import styles from './DesignSystemPage.module.css'
import { FeedbackSamples, OverlaySamples, StateSamples } from './FeedbackSamples.tsx'
import { InputSamples } from './InputSamples.tsx'
import { CodeSamples, LayoutSamples, StripSamples, TableSamples } from './LayoutSamples.tsx'

/** Every component of `ui` in every state, for developers and visual checks. */
export function DesignSystemPage() {
  return (
    <>
      <header className="topbar">
        <Logo />
        <span className="grow" />
        <ThemeMenu />
      </header>
      <Main>
        <Page width="grid">
          <PageHead title="Design System" />
          <div className={styles.kit}>
            <Samples title="Color">
              <ColorSamples />
            </Samples>
            <Samples title="Type">
              <TypeSamples />
            </Samples>
            <Samples title="Buttons">
              <ButtonSamples />
            </Samples>
            <Samples title="Badges and marks">
              <BadgeSamples />
            </Samples>
            <Samples title="Inputs">
              <InputSamples />
            </Samples>
            <Samples title="Dialogs and menus">
              <OverlaySamples />
            </Samples>
            <Samples title="Feedback">
              <FeedbackSamples />
            </Samples>
            <Samples title="Empty, loading, failed">
              <StateSamples />
            </Samples>
            <Samples title="Code and secrets">
              <CodeSamples />
            </Samples>
            <Samples title="Tables">
              <TableSamples />
            </Samples>
            <Samples title="Strips">
              <StripSamples />
            </Samples>
            <Samples title="Layout">
              <LayoutSamples />
            </Samples>
          </div>
        </Page>
      </Main>
      <Toaster />
    </>
  )
}

function Samples({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section>
      <h2>{title}</h2>
      {children}
    </section>
  )
}
