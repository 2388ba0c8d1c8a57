declare const styles: {
  readonly activity: string
  readonly bars: string
  readonly count: string
  readonly empty: string
  readonly failed: string
}
export default styles
