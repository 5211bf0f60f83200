CREATE TABLE `usage_change_parts` (
	`part` integer PRIMARY KEY NOT NULL,
	`changes` text NOT NULL
);
--> statement-breakpoint
DROP TABLE `usage_changes`;