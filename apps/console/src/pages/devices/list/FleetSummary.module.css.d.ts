declare const styles: {
  readonly connected: string
  readonly fleet: string
  readonly newest: string
  readonly ticks: string
  readonly unwell: string
  readonly value: string
}
export default styles
