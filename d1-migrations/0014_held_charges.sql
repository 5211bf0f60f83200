DROP INDEX `organization_events_unpriced`;--> statement-breakpoint
DROP INDEX `calls_unpriced`;--> statement-breakpoint
ALTER TABLE `calls` ADD `charge_basis` text;--> statement-breakpoint
CREATE INDEX `calls_unpriced` ON `calls` (`organization_id`,`started_at_ms`) WHERE (cost_nano_usd IS NULL OR charge_basis IS NOT NULL) AND status IN ('COMPLETED', 'FAILED') AND reversed_at_ms IS NULL;