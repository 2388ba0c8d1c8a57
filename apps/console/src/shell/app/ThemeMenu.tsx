import { Monitor, Moon, Sun } from 'lucide-react'
import { setTheme, type Theme, useTheme } from '../../theme.ts'
import { IconButton } from '../../ui/app/IconButton.tsx'
import { Menu, MenuChoice } from '../../ui/app/Menu.tsx'
import type { IconType } from '../../ui/icon.ts'

const THEMES: { value: Theme; label: string; icon: IconType }[] = [
  { value: 'system', label: 'System', icon: Monitor },
  { value: 'light', label: 'Light', icon: Sun },
  { value: 'dark', label: 'Dark', icon: Moon },
]

/** A button with the menu of themes. */
export function ThemeMenu() {
  const theme = useTheme()
  const icon = THEMES.find(({ value }) => value === theme)?.icon ?? Monitor
  return (
    <Menu trigger={<IconButton label={`Theme: ${theme}`} icon={icon} />} align="end">
      <ThemeChoice />
    </Menu>
  )
}

/** The themes as menu items. */
export function ThemeChoice() {
  return <MenuChoice label="Theme" value={useTheme()} options={THEMES} onChange={setTheme} />
}
