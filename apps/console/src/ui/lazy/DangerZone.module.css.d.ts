declare const styles: {
  readonly line: string
  readonly zone: string
}
export default styles
