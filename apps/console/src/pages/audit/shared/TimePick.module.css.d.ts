declare const styles: {
  readonly fields: string
  readonly moment: string
  readonly presets: string
  readonly range: string
  readonly time: string
}
export default styles
