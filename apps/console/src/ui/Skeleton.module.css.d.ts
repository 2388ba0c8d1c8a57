declare const styles: {
  readonly appearing: string
  readonly rows: string
}
export default styles
