export function Logo({ size = 26 }: { size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" fill="none" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="#0c8599" />
      <path
        d="M16 16c0-1.4 2.2-1.4 2.2.4 0 2.6-4.600 2.800-4.600-.6 0-4.400 7.400-4.600 7.400.6 0 6-10 6.200-10-.6 0-7.400 12.600-7.600 12.600.6V25"
        stroke="#fff"
        strokeWidth="2.2"
        strokeLinecap="round"
      />
    </svg>
  );
}
